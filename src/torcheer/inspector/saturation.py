"""Near which values a bounded activation is saturated, and stops learning."""

from __future__ import annotations

import math
from typing import Final

from torcheer.inspector.rows import Row

Bounds = tuple[float, float, float, float]  # start of its range, saturated up to, saturated from, end

# What a bounded activation gives, from and to; None: that end is not where it stops learning.
_RANGES: Final[dict[str, tuple[float | None, float | None]]] = {
    "Sigmoid": (0.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
    "Hardtanh": (-1.0, 1.0),
    "Softsign": (-1.0, 1.0),
    "ReLU6": (None, 6.0),
}
_NEAR: Final = 0.01  # of the range: so close to a bound is saturated


def bounds_of(row: Row) -> Bounds:
    """NaN for a row that is not the output of a bounded activation."""
    if row.role != "activation" or row.module not in _RANGES:
        return (math.nan,) * 4
    start, end = _RANGES[row.module]
    if start is None or end is None:
        assert end is not None
        return math.nan, -math.inf, end - _NEAR * end, end
    near = _NEAR * (end - start)
    return start, start + near, end - near, end
