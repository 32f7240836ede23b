"""Find a Chromium to test pages with; `python -m tests.browser.chromium` installs one where it may."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
MISSING = (
    "THE BROWSER TESTS DID NOT RUN: no Chrome or Chromium was found. On Debian: apt-get install chromium; "
    "elsewhere name one in TORCHEER_CHROMIUM."
)

# WebGL in software; no services that reach for the network.
ARGUMENTS = [
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    named = os.environ.get("TORCHEER_CHROMIUM")
    if named:
        return named
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    return next((place for place in PLACES if Path(place).exists()), None)


def install() -> None:
    """By apt, as root; anybody else is told what to do."""
    may_install = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
    if find_chromium() is None and may_install:
        print("Installing Debian's chromium for the browser tests.")
        quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=False, **quiet)
    if find_chromium() is None:
        line = "=" * 100
        sys.stderr.write(f"{line}\n{MISSING}\n{line}\n")


if __name__ == "__main__":
    install()
