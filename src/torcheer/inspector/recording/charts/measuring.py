"""What a tensor says in numbers, for the heading of its frame; figures are of the finite values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.run.observing.arrays import view_of

Values = NDArray[numpy.floating[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of one tensor; those of its finite values are NaN where there are none."""

    shape: tuple[int, ...]
    mean: float
    std: float
    low: float
    high: float
    num_nan: int = 0
    num_inf: int = 0
    is_magnitude: bool = False  # of complex numbers

    @property
    def has_finite(self) -> bool:
        return not math.isnan(self.low)


def values_of(tensor: Any) -> tuple[Values, bool]:
    """A tensor or array as floating-point numbers, and whether they are magnitudes of complex ones.

    InputError says why there are none.
    """
    array = view_of(tensor).numbers()
    if array.dtype.kind == "c":
        return numpy.abs(array), True
    if array.dtype.kind != "f":
        return array.astype(numpy.float64), False
    return (array.astype(numpy.float32) if array.dtype.itemsize == 2 else array), False


def measure(values: Values, *, is_magnitude: bool = False) -> Measured:
    num_nan = num_inf = 0
    finite = values
    with numpy.errstate(all="ignore"):
        # Most tensors are finite, and then so is their sum: one look instead of three.
        if not math.isfinite(float(values.sum(dtype=numpy.float64))):
            num_nan, num_inf = int(numpy.isnan(values).sum()), int(numpy.isinf(values).sum())
            finite = values[numpy.isfinite(values)]
    mean = std = low = high = math.nan
    if finite.size:
        with numpy.errstate(all="ignore"):
            mean = float(finite.mean(dtype=numpy.float64))
            std = float(finite.std(dtype=numpy.float64))
        low, high = float(finite.min()), float(finite.max())
    return Measured(
        shape=tuple(values.shape),
        mean=mean,
        std=std,
        low=low,
        high=high,
        num_nan=num_nan,
        num_inf=num_inf,
        is_magnitude=is_magnitude,
    )
