"""Figures over steps as arrays: one figure of all rows, or all figures of one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.run.estimates import ESTIMATES, NUM_VALUES, estimated
from torcheer.run.reading.scalars import needed_pandas
from torcheer.run.records import WatchedRow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WatchedTable:
    """One figure of all rows over steps, as a heat map shows it."""

    column: str
    rows: tuple[WatchedRow, ...]
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float32]  # [row][step], NaN where nothing is known
    is_estimate: NDArray[numpy.bool_]  # [row][step], True for a figure of a sample

    @property
    def names(self) -> list[str]:
        return [row.name for row in self.rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.values, dtype) if copy else numpy.asarray(self.values, dtype)

    def to_pandas(self) -> Any:
        """A data frame: a row for each step, a column for each row that was watched. Needs pandas.

        Behind these stands a column `≈ name` for each that has estimates: True at the steps of which the
        figure is that of a sample.
        """
        pandas = needed_pandas("to_pandas")
        index = pandas.Index(self.steps, name="step")
        values = pandas.DataFrame(self.values.T, index=index, columns=self.names)
        places = numpy.flatnonzero(self.is_estimate.any(axis=1))
        marked = [f"≈ {self.names[place]}" for place in places]
        marks = pandas.DataFrame(self.is_estimate[places].T, index=index, columns=marked)
        return pandas.concat([values, marks], axis=1) if len(places) else values

    def __repr__(self) -> str:
        about = " ≈" if self.is_estimate.any() else ""
        return f"<WatchedTable {self.column}{about}: {len(self.rows)} rows, {steps_text(self.steps)}>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedFigures:
    """All figures of one row over steps. NaN where nothing is known."""

    row: WatchedRow
    columns: tuple[str, ...]
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float32]  # [column][step]

    def column(self, column: str) -> NDArray[numpy.float32]:
        """NaN throughout for one that there is not."""
        if column in self.columns:
            found: NDArray[numpy.float32] = self.values[self.columns.index(column)]
            return found
        return numpy.full(len(self.steps), numpy.nan, numpy.float32)

    def is_estimate(self, column: str) -> NDArray[numpy.bool_]:
        """Where a figure is one of a sample."""
        return estimated(column, self.column(column), self.column(ESTIMATES), self.row.shape)

    def num_values(self, column: str) -> int | None:
        """How many values the latest estimates of a figure are of."""
        known = self.column(NUM_VALUES)[self.is_estimate(column)]
        return int(known[-1]) if len(known) and numpy.isfinite(known[-1]) else None


def every_text(every: str, got: str) -> str:
    """`20/s asked, 1.2/s got`; the first alone where both are the same, or the second is not known."""
    how = every if "/" in every else f"every {every}"
    is_known = got and got != every
    return f"{how} asked, {got if '/' in got else f'every {got}'} got" if is_known else how


def steps_text(steps: NDArray[numpy.int64]) -> str:
    if not len(steps):
        return "no steps"
    return f"{len(steps):,} steps, {steps[0]}–{steps[-1]}" if len(steps) > 1 else f"step {steps[0]}"
