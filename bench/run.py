"""`make bench`: run every bench, print what it found, and write it down.

A new bench is a module with a function from an Effort to a Section; it gets its seconds in SHARES.
"""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from time import perf_counter

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported

import torch

from bench.effort import Effort
from bench.report import Section, Table, budget_table, document, machine, write_docs, write_json

# Seconds for each bench, with its imports and all that it sets up: quick, and in full. The sums stay below
# three and twenty minutes.
SHARES = {
    "passes": (33, 210),
    "gradients": (6, 40),
    "keeping": (10, 40),
    "drawing": (8, 70),
    "runs": (14, 60),
    "charts": (13, 24),
    "watching": (22, 310),
    "netview": (17, 110),
    "fitting": (10, 60),
    "teaching": (8, 30),
    "features": (22, 140),
    "growth": (12, 90),
    "imports": (4, 15),
}
QUICK_SECONDS, FULL_SECONDS = map(sum, zip(*SHARES.values(), strict=True))


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    about = machine()
    sections, rows = [], []
    for name in options.only or SHARES:
        section, row = _run(name, options.quick)
        sections.append(section)
        rows.append(row)
    print(f"## Budgets\n\n{budget_table(sections)}\n")
    print(_seconds_table(rows))
    if options.quick:
        print("\nQuick: fewer models and rounds, so these figures are rough.")
    print(f"\nfigures in {_shown(write_json(sections, about))}")
    if not options.quick and not options.only:
        print(f"tables in {_shown(write_docs(document(sections, about)))}")


def _run(name: str, is_quick: bool) -> tuple[Section, tuple[str, float, float, float]]:
    """What a bench found, and its row of seconds: taken, its share, of processors."""
    share = SHARES[name][0 if is_quick else 1]
    print(f"{name}, {share} seconds:", flush=True)
    effort, processors = Effort(seconds=share, is_quick=is_quick), sum(os.times()[:4])
    section = getattr(import_module(f"bench.{name}"), f"bench_{name}")(effort)
    taken, processors = perf_counter() - effort.started, sum(os.times()[:4]) - processors
    print(f"\n{section}\n\n{name} took {taken:.0f} of {share} seconds\n", flush=True)
    return section, (name, taken, share, processors)


def _seconds_table(rows: list[tuple[str, float, float, float]]) -> Table:
    total = ("all", *(sum(row[at] for row in rows) for at in (1, 2, 3)))
    return Table(
        columns=("bench", "seconds", "share", "of processors"),
        rows=[(name, *(f"{seconds:.0f}" for seconds in row)) for name, *row in (*rows, total)],
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="Measure torcheer.")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_SECONDS / 60:.0f} minutes, not {FULL_SECONDS / 60:.0f}; rough figures, docs untouched",
    )
    parser.add_argument("--only", nargs="+", choices=SHARES, metavar="BENCH", help=", ".join(SHARES))
    return parser.parse_args()


def _shown(path: os.PathLike[str]) -> str:
    return os.path.relpath(path)


if __name__ == "__main__":
    main()
