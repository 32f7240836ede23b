"""Made-up statistics whose every figure says which row, column and step it is of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from torcheer.run.records import WatchedRow
from torcheer.run.run import Run
from torcheer.run.statistics import FigureTable

COLUMNS = ("mean", "std", "norm")


def rows_of(names: Sequence[str]) -> list[WatchedRow]:
    return [
        WatchedRow(
            name=f"{name}.weight", layer=name, variable="weight", role="weight", module="Linear", shape=[2, 3]
        )
        for name in names
    ]


def figure(column: int, row: int, steps: NDArray[numpy.int64]) -> NDArray[numpy.float32]:
    return (steps * 100 + row * 10 + column).astype(numpy.float32)


def table_at(
    steps: Sequence[int], *, num_rows: int = 2, digest: str = "plan", start: float = 1000.0
) -> FigureTable:
    """Times follow from the steps: step 20 is one second after step 0."""
    at = numpy.array(steps, numpy.int64)
    values = [[figure(column, row, at) for row in range(num_rows)] for column in range(len(COLUMNS))]
    return FigureTable(
        digest=digest, steps=at, times=start + at / 20, values=numpy.array(values, numpy.float32)
    )


def is_true(table: FigureTable) -> bool:
    """Whether every figure is that of its row, column and step."""
    num_columns, num_rows, num_steps = table.values.shape
    return num_steps == len(table.steps) and all(
        numpy.array_equal(table.values[column, row], figure(column, row, table.steps))
        for column in range(num_columns)
        for row in range(num_rows)
    )


def log_table(run: Run, table: FigureTable) -> None:
    run.log_statistics(table.digest, table.steps, table.times, table.values)


def log_plan(run: Run, names: Sequence[str] = ("a", "b"), *, digest: str = "plan", step: int = 0) -> None:
    run.log_watch(step, rows_of(names), COLUMNS, digest=digest, every="20/s")
