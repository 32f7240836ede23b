"""A figure of all rows over steps, as much as a picture has room for, and where there were no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.app.runs.stepbuckets import Figures, bucket_steps, highest_figures, mean_figures
from torcheer.run import WatchedReader, at_steps

HIGHEST: Final = frozenset(("nan", "inf"))  # one step with such a value is what one looks for
MARKS: Final = {"nan": numpy.uint8(1), "inf": numpy.uint8(2)}
ESTIMATE: Final = numpy.uint8(4)  # some of the values in it are of samples


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """A line for each row of the plan, a column for each bucket."""

    first_steps: Sequence[int]
    last_steps: Sequence[int]
    values: Figures  # NaN where nothing is known
    marks: NDArray[numpy.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which figure, of which rank, from which step to which."""

    rank: int
    column: str
    low: int | None
    high: int | None


def whole_heat_map(watched: WatchedReader, wish: Wish, most: int) -> HeatMap:
    """From all figures at once, put together by step: right in any case, and slow where there are many."""
    table = watched.table(wish.rank, wish.column)
    buckets = bucket_steps(table.steps, wish.low, wish.high, most)
    reduce = highest_figures if wish.column in HIGHEST else mean_figures
    values = reduce(table.values, buckets)
    marks = numpy.zeros(values.shape, dtype=numpy.uint8)
    for name in MARKS.keys() & set(watched.plan(wish.rank).columns):
        other = watched.table(wish.rank, name)
        shares = highest_figures(at_steps(other.values, other.steps, table.steps), buckets)
        marks |= (shares > 0.0) * MARKS[name]  # NaN is not
    estimates = highest_figures(table.is_estimate.astype(numpy.float32), buckets)
    marks |= (estimates > 0.0) * ESTIMATE
    return HeatMap(first_steps=buckets.first_steps, last_steps=buckets.last_steps, values=values, marks=marks)
