"""A watched run with known figures, for the tests of the page of layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import torcheer as tl
from torcheer.inspector.frame_format import COLUMN, COLUMNS
from torcheer.run import WatchedRow

NUM_STEPS = 60
DIGEST = "0123456789abcdef"
NAN_CELL = ("conv.weight.Grad", 40)  # some of its values are NaN
LOST_CELL = ("conv.Grad", 41)  # all of its values are NaN
INF_CELL = ("fc.Act", 42)
UNSEEN = ("fc.Act", 10)  # not recorded there
KEPT_STEPS = (0, 20, 40)  # at which tensors and histograms were kept


def row(layer: str, variable: str, role: str, module: str, shape: list[int]) -> WatchedRow:
    name = f"{layer}.{variable}"
    return WatchedRow(name=name, layer=layer, variable=variable, role=role, module=module, shape=shape)


ROWS = (
    row("conv", "Act", "activation", "Conv2d", [2, 4, 5, 5]),
    row("relu", "Act", "activation", "ReLU", [2, 4, 5, 5]),
    row("fc", "Act", "activation", "Linear", [2, 3]),
    row("conv", "Grad", "gradient", "Conv2d", [2, 4, 5, 5]),
    row("conv", "weight", "weight", "Conv2d", [4, 1, 3, 3]),
    row("fc", "weight", "weight", "Linear", [3, 100]),
    row("conv", "weight.Grad", "weight_gradient", "Conv2d", [4, 1, 3, 3]),
    row("conv", "weight.Delta", "update", "Conv2d", [4, 1, 3, 3]),
)
PLACE = {one.name: at for at, one in enumerate(ROWS)}


def figures(steps: NDArray[np.int64], rank: int = 0) -> NDArray[np.float32]:
    """[column][row][step]: the same for a step whichever others it comes with."""
    table = np.full((len(COLUMNS), len(ROWS), len(steps)), np.nan, dtype=np.float32)
    for at, step in enumerate(steps.tolist()):
        generator = np.random.default_rng([rank, step])
        sizes = generator.lognormal(0, 1, len(ROWS)) * 10.0 ** -np.arange(len(ROWS))
        table[COLUMN["mean"], :, at] = sizes * generator.normal(0, 1, len(ROWS))
        table[COLUMN["std"], :, at] = sizes
        table[COLUMN["min"], :, at] = -3 * sizes
        table[COLUMN["max"], :, at] = 3 * sizes
        table[COLUMN["norm"], :, at] = 7 * sizes
        for name in ("zeros", "nan", "inf"):
            table[COLUMN[name], :, at] = 0.0
        for share, name in enumerate(("q01", "q05", "q25", "q50", "q75", "q95", "q99")):
            table[COLUMN[name], :, at] = (share - 3) * 0.8 * sizes
        table[COLUMN["dead"], PLACE["relu.Act"], at] = step / 100
        table[COLUMN["ratio"], PLACE["conv.weight.Delta"], at] = 1e-3 * (1 + step)
        _break_some(table, at, step)
    return table


def _break_some(table: NDArray[np.float32], at: int, step: int) -> None:
    if step == NAN_CELL[1]:
        table[COLUMN["nan"], PLACE[NAN_CELL[0]], at] = 0.25
    if step == INF_CELL[1]:
        table[COLUMN["inf"], PLACE[INF_CELL[0]], at] = 0.5
    if step == LOST_CELL[1]:
        table[:, PLACE[LOST_CELL[0]], at] = np.nan
        table[COLUMN["nan"], PLACE[LOST_CELL[0]], at] = 1.0
    if step == UNSEEN[1]:
        table[:, PLACE[UNSEEN[0]], at] = np.nan


def weight(step: int) -> NDArray[np.float32]:
    return np.random.default_rng(step).normal(0, 1, (4, 1, 3, 3)).astype(np.float32)


def log_steps(run: tl.Run, first: int, end: int, rank: int = 0) -> None:
    steps = np.arange(first, end, dtype=np.int64)
    run.log_statistics(DIGEST, steps, 1.7e9 + 0.1 * steps, figures(steps, rank))


def begin_watching(run: tl.Run) -> None:
    run.log_watch(0, ROWS, COLUMNS, digest=DIGEST, every="20/s")


def log_gradient_alarm(run: tl.Run, step: int, alarm: str, value: float, message: str) -> None:
    message = f"conv.weight.Grad: {message}"
    run.log_alarm(step, alarm, layer="conv", variable="weight.Grad", value=value, message=message)


def write_watched(path: Path) -> None:
    """Two ranks, three kinds of alarms, two gaps, and a scalar beside them."""
    with tl.Run(path) as run, tl.Run(path, rank=1) as other:
        begin_watching(run)
        begin_watching(other)
        log_steps(run, 0, NUM_STEPS)
        log_steps(other, 0, NUM_STEPS, rank=1)
        for step in KEPT_STEPS:
            run.log_tensor(step, "conv.weight", weight(step))
            run.log_histogram(step, "conv.weight", weight(step))
        for step in range(NUM_STEPS):
            run.log(step, {"loss": 1 / (1 + step)})
        log_gradient_alarm(run, 30, "exploding_gradient", 118.0, "its norm is 118 at step 30, above 50")
        log_gradient_alarm(run, 40, "nan", 0.25, "25 % of the values are NaN at step 40")
        run.log_alarm(50, "loss_spike", variable="loss", value=9.0, message="the loss is 9 at step 50")
        run.log_gap(
            20, 23, reason="full", counts={"conv.Act": 300, "fc.Act": 12}, message="the ring was full"
        )
        other.log_gap(5, 6, reason="killed", counts={"conv.Act": 2}, message="started again")
