"""The figures of a whole tensor: norm at every look, mean and extremes now and then, quantiles on request.

Everything goes in pieces that stay in the cache of a processor from one figure to the next. By torch and not
by NumPy, whose own threads would get into the way of torch's; and by amin and amax, which together take a
fourth of the time of aminmax.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy
import torch
from torch import Tensor

from torcheer.inspector.columns import QUANTILES
from torcheer.inspector.saturation import Bounds

_PIECE, _LINE = 1 << 18, 1 << 12  # a piece is made of whole lines
_SHORT: Final = 2 * _LINE  # up to here one sum of float32 is precise, and faster than several
_LARGEST, _SMALLEST = 1e16, 1e-12  # between them, the squares of a piece can be added up as float32
_SPREAD: Final = 0.5  # of the mean square: where the spread is smaller, it is computed around the mean


class Moments(NamedTuple):
    """Of the finite values; NaN where there are none."""

    mean: float
    std: float
    low: float
    high: float


class Order(NamedTuple):
    """What needs all values in order. `saturated` is NaN where it has no meaning."""

    zeros: float  # share of all values
    saturated: float  # share of the finite values
    quantiles: tuple[float, ...]


class Whole(NamedTuple):
    """What is known of a whole tensor: of its finite values, with the number of others beside it."""

    norm: float
    num_nan: int = 0
    num_inf: int = 0
    has_positive_inf: bool = False
    moments: Moments | None = None
    order: Order | None = None


def norms(flats: Sequence[Tensor]) -> list[Whole]:
    """The norms of tensors of one dimension on the CPU, and whether they hold NaN or Inf."""
    found = [_line_norms(flat) for flat in flats]
    if not found:
        return []
    squares = torch.cat(found).double().square_().numpy()
    starts = numpy.cumsum([0, *(len(lines) for lines in found[:-1])])
    sums = numpy.sqrt(numpy.add.reduceat(squares, starts)).tolist()
    return [_trusted(flat, norm) for flat, norm in zip(flats, sums, strict=True)]


def _line_norms(flat: Tensor) -> Tensor:
    """Norms of stretches: as fast as one norm of all, whose sum of float32 is off by up to a thousandth."""
    if flat.dtype in (torch.float16, torch.bfloat16):
        return torch.cat([_line_norms(piece.float()) for piece in _pieces(flat)])
    num_lines = flat.numel() // _LINE
    if num_lines * _LINE == flat.numel() and num_lines:
        return _norms_of_lines(flat, num_lines)
    last = _norm_behind(flat, num_lines).view(1)
    return torch.cat((_norms_of_lines(flat, num_lines), last)) if num_lines else last


def _norms_of_lines(flat: Tensor, num_lines: int) -> Tensor:
    found: Tensor = torch.linalg.vector_norm(flat.as_strided((num_lines, _LINE), (_LINE, 1)), dim=1)
    return found


def _norm_behind(flat: Tensor, num_lines: int) -> Tensor:
    """Of what does not fill a line."""
    found: Tensor = torch.linalg.vector_norm(flat[num_lines * _LINE :])
    return found


def _pieces(flat: Tensor) -> Sequence[Tensor]:
    return (flat,) if flat.numel() <= _PIECE else torch.split(flat, _PIECE)


def _trusted(flat: Tensor, norm: float) -> Whole:
    """Where squares overflowed or vanished, or something is not finite, it is computed again."""
    if _SMALLEST < norm < math.inf:
        return Whole(norm)
    if not flat.numel() or (norm == 0 and not flat.any()):
        return Whole(0.0)
    return whole_figures(flat)._replace(moments=None)


def whole_figures(flat: Tensor) -> Whole:
    """Norm, mean, spread and extremes of a tensor of one dimension on the CPU."""
    is_short = flat.numel() <= _SHORT
    parts = [_figures(piece, is_short=is_short) for piece in _pieces(flat)]
    if len(parts) == 1:
        return parts[0].whole()
    total = parts[0]
    for part in parts[1:]:
        total = total.joined(part)
    return total.whole()


class _Sums(NamedTuple):
    """Of the finite values of a piece: their number, mean, and the norm of their distances from it."""

    num: int
    mean: float
    spread: float
    norm: float
    low: float
    high: float
    num_nan: int = 0
    num_inf: int = 0
    has_positive_inf: bool = False

    def joined(self, other: _Sums) -> _Sums:
        num = self.num + other.num
        step = other.mean - self.mean
        share = other.num / num if num else 0.0
        return _Sums(
            num,
            self.mean + step * share,
            math.hypot(self.spread, other.spread, step * math.sqrt(self.num * share)),
            math.hypot(self.norm, other.norm),
            min(self.low, other.low),
            max(self.high, other.high),
            self.num_nan + other.num_nan,
            self.num_inf + other.num_inf,
            self.has_positive_inf or other.has_positive_inf,
        )

    def whole(self) -> Whole:
        if self.num:
            std = self.spread / math.sqrt(self.num - 1) if self.num > 1 else math.nan
            moments = Moments(self.mean, std, self.low, self.high)
        else:
            moments = Moments(math.nan, math.nan, math.nan, math.nan)
        return Whole(self.norm, self.num_nan, self.num_inf, self.has_positive_inf, moments)


def _figures(flat: Tensor, *, is_short: bool) -> _Sums:
    if flat.dtype in (torch.float16, torch.bfloat16):
        flat = flat.float()
    low, high = flat.amin().item(), flat.amax().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        return _of_the_finite(flat)
    largest = max(-low, high)
    if largest == 0:
        return _Sums(flat.numel(), 0.0, 0.0, 0.0, 0.0, 0.0)
    if _SMALLEST < largest < _LARGEST:
        return _sums(flat, low, high, is_short=is_short)
    return _scaled(flat.double(), low, high)


def _squares(flat: Tensor) -> float:
    """Their sum, added up as `norms` does: so the norm of a tensor that stays as it is stays the same."""
    num_lines = flat.numel() // _LINE
    found = 0.0
    if num_lines:
        lines = _norms_of_lines(flat, num_lines).numpy().astype(numpy.float64)
        found = float(lines.dot(lines))
    if num_lines * _LINE < flat.numel():
        found += _norm_behind(flat, num_lines).item() ** 2
    return found


def _sums(flat: Tensor, low: float, high: float, *, is_short: bool) -> _Sums:
    num = flat.numel()
    squares = torch.dot(flat, flat).item() if is_short else _squares(flat)
    mean = min(max(flat.sum().item() / num, low), high)
    around = squares - num * mean * mean
    if around < _SPREAD * squares:  # all but the mean may have been rounded away
        distances = flat - mean
        around = _squares(distances) if low < high else 0.0
    return _Sums(num, mean, math.sqrt(around), math.sqrt(squares), low, high)


def _scaled(flat: Tensor, low: float, high: float) -> _Sums:
    """Of numbers whose squares are too large or too small."""
    largest = max(-low, high)
    sums = _sums(flat / largest, low / largest, high / largest, is_short=True)  # in float64
    mean, spread, norm = (figure * largest for figure in (sums.mean, sums.spread, sums.norm))
    return sums._replace(mean=mean, spread=spread, norm=norm, low=low, high=high)


def _of_the_finite(flat: Tensor) -> _Sums:
    """Something went wrong in the training: now it may take longer."""
    num_nan = int(flat.isnan().sum())
    finite = flat[flat.isfinite()].double()
    num = finite.numel()
    num_inf = flat.numel() - num_nan - num
    others = num_nan, num_inf, num_inf > 0 and bool((flat == torch.inf).any())
    if not num:
        return _Sums(0, 0.0, 0.0, 0.0, math.inf, -math.inf, *others)
    low, high = finite.amin().item(), finite.amax().item()
    sums = _scaled(finite, low, high) if low or high else _Sums(num, 0.0, 0.0, 0.0, 0.0, 0.0)
    return sums._replace(num_nan=others[0], num_inf=others[1], has_positive_inf=others[2])


def all_figures(flat: Tensor, bounds: Bounds) -> Whole:
    """Every figure, exactly: sorts all values, which takes its time."""
    whole = whole_figures(flat)
    numbers = flat if flat.dtype in (torch.float32, torch.float64) else flat.float()
    num = numbers.numel()
    num_zeros = num - int(torch.count_nonzero(numbers))
    is_finite = not (whole.num_nan or whole.num_inf)
    finite = (numbers if is_finite else numbers[numbers.isfinite()]).sort().values
    return whole._replace(order=Order(num_zeros / num, _saturated(finite, bounds), _quantiles(finite)))


def _quantiles(ordered: Tensor) -> tuple[float, ...]:
    """Between two values in proportion, as NumPy does."""
    num = ordered.numel()
    if not num:
        return (math.nan,) * len(QUANTILES)
    found = []
    for share in QUANTILES:
        place = share * (num - 1)
        before = int(place)
        low, high = ordered[before].item(), ordered[min(before + 1, num - 1)].item()
        found.append(low + (high - low) * (place - before))
    return tuple(found)


def _saturated(ordered: Tensor, bounds: Bounds) -> float:
    start, low, high, end = bounds
    num = ordered.numel()
    if math.isnan(low) or not num:
        return math.nan
    if ordered[0].item() < start or ordered[-1].item() > end:
        return math.nan  # a layer of this name with bounds of its own, of which nothing is known
    num_below = int(torch.searchsorted(ordered, low, right=True))
    num_above = num - int(torch.searchsorted(ordered, high))
    return (num_below + num_above) / num
