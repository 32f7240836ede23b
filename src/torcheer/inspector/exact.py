"""The figures of a whole tensor, in as few passes over its memory as there can be."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

_PIECE = 1 << 20  # elements that stay in the cache of a processor from one figure to the next


class Exact(NamedTuple):
    """Of the finite values; how many others there are stands beside it."""

    total: float
    squares: float
    low: float
    high: float
    num_nan: int
    num_inf: int


def exact_figures(flat: Tensor) -> Exact:
    """Of a tensor of one dimension, of real numbers, on the CPU."""
    total = squares = 0.0
    low, high = math.inf, -math.inf
    for piece in torch.split(flat, _PIECE) if flat.numel() > 2 * _PIECE else (flat,):
        lowest, highest = torch.aminmax(piece)
        piece_low, piece_high = lowest.item(), highest.item()
        if not (piece_low > -math.inf and piece_high < math.inf):  # NaN compares as neither
            return _of_the_finite(flat)
        total += piece.sum().item()
        squares += torch.dot(piece, piece).item()
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
