"""What a tensor says in numbers, for the heading of its frame; figures are of the finite values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.run.observing.arrays import view_of

Values = NDArray[numpy.floating[Any]]

_LEAST: Final = 1e-30  # of a variance that float32 has with all its digits


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
    mean = std = low = high = math.nan
    with numpy.errstate(all="ignore"):
        total = float(values.sum(dtype=numpy.float64))
        # Most tensors are finite, and then so is their sum: one look instead of three.
        if not math.isfinite(total):
            num_nan, num_inf = int(numpy.isnan(values).sum()), int(numpy.isinf(values).sum())
            finite = values[numpy.isfinite(values)]
            total = float(finite.sum(dtype=numpy.float64))
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
            mean = total / finite.size
            std = _deviation(finite, mean) if low < high else 0.0
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


def _deviation(values: Values, mean: float) -> float:
    squares = values.reshape(-1) - values.dtype.type(mean)
    numpy.square(squares, out=squares)
    variance = float(squares.mean(dtype=numpy.float64))
    if _LEAST < variance < math.inf:
        return math.sqrt(variance)
    # Squared, it is too large or too small for its own type: gradients that vanish are.
    return float(values.std(dtype=numpy.longdouble))
