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
# Targets of the Makefile, by what they are called here.
FIRST: Final = {"style": "style", "browser": "browser"}
BESIDE: Final = {"types and imports": "types", "front end": "web-check"}
WORKERS: Final = 4  # for two processors: while tests wait for a page or a process, others go on
TORTURE: Final = {  # the short forms: modules, with what they are given
    "torture: killed writers": ("tests.run.torture", "--kills", "20"),
    "torture: killed children": ("tests.inspector.torture", "--seconds", "60"),
    "torture: killed ranks": ("tests.features.torture", "--kills", "5"),
    "torture: damaged files": ("tests.run.torture_files", "--inputs", "5000"),
}
_FORKS: Final = ("-p", "tests.forks", "--forks", str(WORKERS))
COVERED: Final = ("--cov=torcheer", "--cov-branch", "--cov-report=json:build/coverage.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A check that has ended."""

    name: str
    seconds: float
    is_green: bool
    num_tests: int | None = None


def main() -> None:
    arguments, more = _arguments()
    console = Console(highlight=False, soft_wrap=True)
    began = time.monotonic()
    if arguments.all:
        os.environ["TESTS"] = "all"
        more = ["-m", "", *more]
    done = _tests([*COVERED, *more]) if arguments.coverage else _everything(more, console)
    if arguments.all and not arguments.coverage and all(check.is_green for check in done):
        done += [_run(name, [sys.executable, "-m", *command], console) for name, command in TORTURE.items()]
    console.print(_table(done, time.monotonic() - began))
    red = [check.name for check in done if not check.is_green]
    if red:
        console.print(f"[red]Failed: {', '.join(red)}.[/]")
        raise SystemExit(1)


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="python -m tests.check", description="Check everything. Other arguments are pytest's."
    )
    parser.add_argument("--all", action="store_true", help="whole lists, the zoo, short torture")
    parser.add_argument("--coverage", action="store_true", help="the tests alone, and what they run of src")
    return parser.parse_known_args()


def _everything(more: list[str], console: Console) -> list[Done]:
    done = _side_by_side(FIRST, console)
    if not all(check.is_green for check in done):
        return done
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(_side_by_side, BESIDE, console)
        return [*done, *_tests(more), *beside.result()]


def _side_by_side(targets: dict[str, str], console: Console) -> list[Done]:
    def check(name: str) -> Done:
        return _run(name, ["make", "--no-print-directory", targets[name]], console)

    with ThreadPoolExecutor(len(targets)) as pool:
        return list(pool.map(check, targets))


def _run(name: str, command: list[str], console: Console) -> Done:
    """What it prints is shown if it fails, or if it says that it could not check."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        ended = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, check=False)
        done = Done(name=name, seconds=time.monotonic() - began, is_green=ended.returncode == 0)
        output.seek(0)
        printed = output.read()
    if not done.is_green or "NOT CHECKED" in printed:
        console.print(f"\n--- {name} ---\n{printed}", markup=False)
    return done


def _tests(more: list[str]) -> list[Done]:
    """Runs pytest; a row for each kind of test."""
    SUMMARY.unlink(missing_ok=True)
    began = time.monotonic()
    # pytest-cov knows xdist's workers, and not copies of a process.
    workers = ["-n", str(WORKERS), "--dist", "worksteal"] if COVERED[0] in more else _FORKS
    command = [sys.executable, "-m", "pytest", *workers, *more]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    by_kind = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
    rows = [
        Done(name=f"tests: {kind}", seconds=seconds, is_green=True, num_tests=number)
        for kind, (number, seconds) in sorted(by_kind.items(), key=lambda item: -item[1][1])
    ]
    return [*rows, Done(name="tests, by the clock", seconds=time.monotonic() - began, is_green=code == 0)]


def _table(done: list[Done], seconds: float) -> Table:
    table = Table(title="Where the time went", title_justify="left", box=None)
    for heading in ("", "tests", "seconds"):
        table.add_column(heading, justify="right" if heading else "left")
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
