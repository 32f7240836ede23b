"""The figures of a whole tensor, in as little time as there can be: it is the training that waits.

The tensor is gone through in pieces that stay in the cache of a processor from one figure to the next. NumPy
is several times as fast as torch.aminmax here, and wakes no threads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

_PIECE = 1 << 16
_ONES = {dtype: numpy.ones(_PIECE, dtype) for dtype in ("float32", "float64")}  # a product sums faster


class Exact(NamedTuple):
    """Of the finite values; how many others there are stands beside it."""

    total: float
    squares: float
    low: float
    high: float
    num_nan: int
    num_inf: int


@numpy.errstate(over="ignore", invalid="ignore")
def exact_figures(flat: Tensor) -> Exact:
    """Of a tensor of one dimension, float32 or float64, on the CPU."""
    numbers: NDArray[Any] = flat.numpy()
    ones = _ONES[numbers.dtype.name]
    total = squares = 0.0
    low, high = math.inf, -math.inf
    for start in range(0, len(numbers), _PIECE):
        piece = numbers[start : start + _PIECE]
        piece_low, piece_high = float(piece.min()), float(piece.max())
        if not (piece_low > -math.inf and piece_high < math.inf):  # NaN compares as neither
            return _of_the_finite(flat)
        total += float(piece.dot(ones[: len(piece)]))
        squares += float(piece.dot(piece))
        low, high = min(low, piece_low), max(high, piece_high)
    if not squares < math.inf:  # finite values whose squares are too large for their type
        squares = _squares(flat)
    return Exact(total, squares, low, high, 0, 0)


def _of_the_finite(flat: Tensor) -> Exact:
    """Something went wrong in the training: now it may take longer."""
    num_nan = int(flat.isnan().sum())
    finite = flat[flat.isfinite()]
    num_inf = flat.numel() - num_nan - finite.numel()
    if not finite.numel():
        return Exact(0.0, 0.0, math.nan, math.nan, num_nan, num_inf)
    lowest, highest = torch.aminmax(finite)
    total = finite.sum(dtype=torch.float64).item()
    return Exact(total, _squares(finite), lowest.item(), highest.item(), num_nan, num_inf)


def _squares(flat: Tensor) -> float:
    return sum(piece.double().square().sum().item() for piece in torch.split(flat, _PIECE))
