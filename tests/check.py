"""`make test`: every check, those first that fail fast, and at the end a table of where the time went.

Types and the front end are checked beside the tests. What they print is shown when they end, if they fail.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.timing import SUMMARY

ROOT: Final = Path(__file__).resolve().parents[1]
FIRST: Final = {
    "style": "style",
    "browser": "browser",
}  # targets of the Makefile, by what they are called here
BESIDE: Final = {"types and imports": "types", "front end": "web-check"}
WORKERS: Final = 3  # for two processors: while a test waits for a page or a process, another goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A check that has ended."""

    name: str
    seconds: float
    is_green: bool
    num_tests: int | None = None


def main() -> None:
    arguments, for_pytest = _arguments()
    console = Console(highlight=False, soft_wrap=True)
    began = time.monotonic()
    done = _side_by_side(FIRST, console)
    if all(check.is_green for check in done):
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(_side_by_side, BESIDE, console)
            done += _tests(arguments.workers, for_pytest)
            done += beside.result()
    console.print(_table(done, time.monotonic() - began))
    red = [check.name for check in done if not check.is_green]
    if red:
        console.print(f"[red]Failed: {', '.join(red)}.[/]")
        raise SystemExit(1)


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m tests.check", description=__doc__)
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes that run tests at once")
    return parser.parse_known_args()


def _side_by_side(targets: dict[str, str], console: Console) -> list[Done]:
    def check(name: str) -> Done:
        return _make(name, targets[name], console)

    with ThreadPoolExecutor(len(targets)) as pool:
        return list(pool.map(check, targets))


def _make(name: str, target: str, console: Console) -> Done:
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        command = ["make", "--no-print-directory", target]
        code = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, check=False
        ).returncode
        done = Done(name=name, seconds=time.monotonic() - began, is_green=code == 0)
        output.seek(0)
        printed = output.read()
    if "THE FRONT END WAS NOT CHECKED" in printed or not done.is_green:
        console.print(f"\n--- {name} ---\n{printed}", markup=False)
    return done


def _tests(workers: int, more: list[str]) -> list[Done]:
    """Runs pytest; one row for each kind of test."""
    SUMMARY.unlink(missing_ok=True)
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "worksteal", *more]
    code = subprocess.run(command, cwd=ROOT, env=os.environ, check=False).returncode
    if not SUMMARY.exists():
        return [Done(name="tests", seconds=time.monotonic() - began, is_green=False)]
    by_kind = json.loads(SUMMARY.read_text())
    rows = [
        Done(name=f"tests: {kind}", seconds=seconds, is_green=True, num_tests=number)
        for kind, (number, seconds) in sorted(by_kind.items(), key=lambda item: -item[1][1])
    ]
    return [*rows, Done(name="tests", seconds=time.monotonic() - began, is_green=code == 0)]


def _table(done: list[Done], seconds: float) -> Table:
    table = Table(title="Where the time went", title_justify="left", box=None)
    for heading in ("", "tests", "seconds"):
        table.add_column(heading, justify="left" if not heading else "right")
    for check in done:
        table.add_row(
            check.name if check.is_green else f"[red]{check.name} failed[/]",
            "" if check.num_tests is None else f"{check.num_tests:,}",
            f"{check.seconds:,.0f}",
        )
    table.add_row("in all, side by side", "", f"{seconds:,.0f}")
    return table


if __name__ == "__main__":
    main()
