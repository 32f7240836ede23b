"""Microseconds and bytes an op, from 500 to 50,000 ops: both must stay what they are."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from bench import contenders
from bench.contenders import BARE, KEEP_VALUES, OURS, RECORDED
from bench.effort import Effort
from bench.measure import clocks, interleave
from bench.models import LoopOfTinyOps, LoopOfWrites, unrolled_tiny_ops
from bench.report import Section, Table, Verdict

SIZES = (500, 5_000, 50_000)
SHAPES: dict[str, Callable[[int], nn.Module]] = {
    "a loop": LoopOfTinyOps,
    "unrolled": unrolled_tiny_ops,
    "a loop of in-place ops": LoopOfWrites,
}
TEXT = """\
Tiny ops (8 × 8 numbers, no grad). Time: what the capture takes above the bare forward, divided by the ops.
Memory: Python's own (tracemalloc), of a history whose graph and labels are built, beyond that of a list which
keeps the same values; the tensors' data lies outside it, in both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    shape: str
    num_ops: int
    bare_us: float
    recorded_us: float  # above bare
    ours_us: float
    ours_bytes: float
    kept_bytes: float

    @property
    def bytes_beyond(self) -> float:
        return self.ours_bytes - self.kept_bytes


def bench_growth(effort: Effort) -> Section:
    settings = product(SHAPES, SIZES[:2] if effort.is_quick else SIZES)
    sizes = [_measure(shape, num_ops, share) for (shape, num_ops), share in effort.divide(settings)]
    return Section(
        title="From 500 to 50,000 ops",
        parts=[TEXT, _table(sizes)],
        verdicts=_verdicts(sizes),
        data=[asdict(size) for size in sizes],
    )


def _measure(shape: str, num_ops: int, effort: Effort) -> Size:
    print(f"  {shape}, {num_ops:,} ops …", flush=True)
    model = SHAPES[shape](num_ops)
    x = torch.randn(8, 8)
    with torch.no_grad():
        runs = contenders.in_this_process(model, x)
        runs = {name: runs[name] for name in (BARE, RECORDED, OURS)}
        runs[OURS]()  # what is made once is not counted below
        ours_bytes = _python_bytes(contenders.capture_and_build, model, x) / num_ops
        kept_bytes = _python_bytes(contenders.keep_values, model, x) / num_ops
        times = interleave(clocks(runs), effort)
        return Size(
            shape=shape,
            num_ops=num_ops,
            bare_us=times.median(BARE) / num_ops * 1e6,
            recorded_us=times.median_difference(RECORDED, BARE) / num_ops * 1e6,
            ours_us=times.median_difference(OURS, BARE) / num_ops * 1e6,
            ours_bytes=ours_bytes,
            kept_bytes=kept_bytes,
        )


def _python_bytes(run: Callable[[nn.Module, Any], Any], model: nn.Module, x: Tensor) -> int:
    """What Python still holds for the result of a run that has been done before."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = run(model, x)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
        del result
        return held
    finally:
        tracemalloc.stop()


def _table(sizes: list[Size]) -> Table:
    return Table(
        columns=(
            "ops",
            "bare, µs an op",
            f"{RECORDED}, + µs an op",
            f"{OURS}, + µs an op",
            "Python bytes an op",
            f"a forward that {KEEP_VALUES}",
            "beyond it",
        ),
        rows=[
            (
                f"{size.num_ops:,}, {size.shape}",
                f"{size.bare_us:.1f}",
                f"{size.recorded_us:.1f}",
                f"{size.ours_us:.1f}",
                f"{size.ours_bytes:,.0f}",
                f"{size.kept_bytes:,.0f}",
                f"{size.bytes_beyond:,.0f}",
            )
            for size in sizes
        ],
    )


def _verdicts(sizes: list[Size]) -> list[Verdict]:
    verdicts = []
    for size in sizes:
        what = f"{size.num_ops:,} ops, {size.shape}: bytes an op beyond the saved tensors"
        verdicts.append(Verdict(what=what, figure=size.bytes_beyond, at_most=2_000))
    for shape in SHAPES:
        middle, largest = [size for size in sizes if size.shape == shape][-2:]
        growth = largest.ours_us / middle.ours_us
        what = f"{shape}: µs an op at {largest.num_ops:,} ops against {middle.num_ops:,} (linear is 1)"
        verdicts.append(Verdict(what=what, figure=growth, at_most=1.5))
    return verdicts
