"""Find a Chromium to test pages with; `python -m tests.browser.chromium` installs one where it may."""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

# The shell first: without the windows of a whole browser it takes about half the time.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
PACKAGES = ("chromium-headless-shell", "chromium")
APT_SECONDS = 300
MISSING = (
    "THE BROWSER TESTS DID NOT RUN: no Chrome or Chromium was found. On Debian: apt-get install chromium; "
    "elsewhere name one in TORCHEER_CHROMIUM."
)

# WebGL in software; no services that reach for the network; no new process for each page that is loaded.
ARGUMENTS = [
    "--process-per-site",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@functools.cache
def find_chromium() -> str | None:
    """The first that really starts: what is called so may be a hint to install something else."""
    named = os.environ.get("TORCHEER_CHROMIUM")
    candidates = [named] if named else [*map(shutil.which, NAMES), *PLACES]
    return next((one for one in candidates if one and _starts(one)), None)


def _starts(path: str) -> bool:
    if not Path(path).exists():
        return False
    try:
        return (
            subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def install() -> None:
    """By apt, as root; anybody else is told what to do."""
    may_install = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
    if find_chromium() is None and may_install:
        print("Installing Debian's chromium for the browser tests.")
        _apt("update", "-qq")
        for package in PACKAGES:  # an older Debian has no shell
            _apt("install", "-y", "-qq", package)
            find_chromium.cache_clear()
            if find_chromium() is not None:
                return
    if find_chromium() is None:
        line = "=" * 100
        sys.stderr.write(f"{line}\n{MISSING}\n{line}\n")


def _apt(*arguments: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with contextlib.suppress(subprocess.TimeoutExpired):  # without a network it would try for long
        subprocess.run(
            ["apt-get", *arguments], check=False, timeout=APT_SECONDS, stdout=subprocess.DEVNULL, env=quiet
        )


if __name__ == "__main__":
    install()
