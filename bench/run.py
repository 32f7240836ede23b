"""`make bench`: run every bench, print what it found, and write it down.

A new bench is a function from an Effort to a Section; it goes into BENCHES.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from time import perf_counter

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported

import torch

from bench.drawing import bench_drawing
from bench.effort import FULL, QUICK, Effort
from bench.features import bench_features
from bench.fitting import bench_fitting
from bench.gradients import bench_gradients
from bench.growth import bench_growth
from bench.imports import bench_imports
from bench.keeping import bench_keeping
from bench.netview import bench_netview
from bench.passes import bench_passes
from bench.report import Section, budget_table, document, machine, write_docs, write_json
from bench.runs import bench_runs
from bench.teaching import bench_teaching
from bench.watching import bench_watching

BENCHES: dict[str, Callable[[Effort], Section]] = {
    "passes": bench_passes,
    "gradients": bench_gradients,
    "keeping": bench_keeping,
    "drawing": bench_drawing,
    "runs": bench_runs,
    "watching": bench_watching,
    "netview": bench_netview,
    "fitting": bench_fitting,
    "teaching": bench_teaching,
    "features": bench_features,
    "growth": bench_growth,
    "imports": bench_imports,
}


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    about = machine()
    started = perf_counter()
    sections = []
    for name in options.only or BENCHES:
        print(f"{name}:", flush=True)
        sections.append(BENCHES[name](QUICK if options.quick else FULL))
        print(f"\n{sections[-1]}\n", flush=True)
    print(f"## Budgets\n\n{budget_table(sections)}\n")
    minutes = (perf_counter() - started) / 60
    print(f"took {minutes:.1f} minutes; figures in {_shown(write_json(sections, about))}")
    if not options.quick and not options.only:
        print(f"tables in {_shown(write_docs(document(sections, about)))}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="Measure torcheer.")
    parser.add_argument("--quick", action="store_true", help="a minute or two, rough figures, docs untouched")
    parser.add_argument("--only", nargs="+", choices=BENCHES, metavar="BENCH", help=", ".join(BENCHES))
    return parser.parse_args()


def _shown(path: os.PathLike[str]) -> str:
    return os.path.relpath(path)


if __name__ == "__main__":
    main()
