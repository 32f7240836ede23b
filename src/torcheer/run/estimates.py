"""Which figures of a watched tensor are those of the whole, and which are estimates from a sample.

Two columns of the statistics say so at each step and row: `ESTIMATES` is the sum of the bits of the groups
whose figures are estimates, `NUM_VALUES` the number of values that these come from. Runs of earlier versions
have no such columns: there, every figure of a tensor that did not fit into a sample may be an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy
from numpy.typing import NDArray

ESTIMATES: Final = "estimates"
NUM_VALUES: Final = "num_values"
BOOKKEEPING: Final = (ESTIMATES, NUM_VALUES)  # columns that are no figures themselves

MOMENTS, NORM, ORDER, UNITS = 1, 2, 4, 8  # the groups: figures of one are exact together
_GROUPS: Final = {
    "mean": MOMENTS,
    "std": MOMENTS,
    "min": MOMENTS,
    "max": MOMENTS,
    "norm": NORM,
    "nan": NORM,
    "inf": NORM,
    "ratio": NORM,
    "dead": UNITS,
}
_EARLIER_SAMPLE: Final = 512  # values of a tensor that earlier versions looked at


def group_of(column: str) -> int:
    """The bit of a figure; shares and quantiles need all values in order."""
    return _GROUPS.get(column, ORDER)


def estimated(
    column: str, values: NDArray[Any], estimates: NDArray[Any], shape: Sequence[int] | None
) -> NDArray[numpy.bool_]:
    """Where a figure of a row is an estimate: `estimates` are those of its column `ESTIMATES`.

    `shape` is that of the tensor, by which it is told for steps that an earlier version watched.
    """
    is_unknown = numpy.isnan(estimates)
    groups = numpy.where(is_unknown, 0, estimates).astype(numpy.int64)
    found: NDArray[numpy.bool_] = (groups & group_of(column)) != 0
    if shape is None or math.prod(shape) > _EARLIER_SAMPLE:
        found |= is_unknown
    found &= ~numpy.isnan(values)
    return found


def figures_of(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are figures."""
    return tuple(column for column in columns if column not in BOOKKEEPING)
