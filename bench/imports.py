"""How long `import torcheer` takes where torch is there already."""

from __future__ import annotations

import statistics
import subprocess
import sys

from bench.effort import Effort
from bench.report import ROOT, Section, Table, Verdict

PROGRAM = """
import torch
from time import perf_counter
started = perf_counter()
import torcheer
imported = perf_counter()
torcheer.log_forward_pass
print((imported - started) * 1e3, (perf_counter() - started) * 1e3)
"""


def bench_imports(effort: Effort) -> Section:
    print("  import torcheer …", flush=True)
    _import_ms()  # compiles what is not compiled yet
    both = [_import_ms() for _ in range(2 if effort.is_quick else 7)]
    imported, used = ([pair[i] for pair in both] for i in (0, 1))
    what = {
        "`import torcheer` after `import torch`": imported,
        "import and first use, until `torcheer.log_forward_pass` can be called": used,
    }
    return Section(
        title="Import",
        parts=[
            Table(
                columns=("milliseconds", "median", "least"),
                rows=[(name, f"{statistics.median(ms):.1f}", f"{min(ms):.1f}") for name, ms in what.items()],
            )
        ],
        verdicts=[
            Verdict(what=f"{name}, ms", figure=statistics.median(ms), at_most=50) for name, ms in what.items()
        ],
        data={"import_ms": imported, "first_use_ms": used},
    )


def _import_ms() -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported, used = map(float, done.stdout.split())
    return imported, used
