"""Which values of a tensor are taken: a sample spread over all of it, and an excerpt that keeps its shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.inspector.frame_format import (
    DTYPE_CODES,
    IS_CUT,
    IS_SEEN,
    MOST_DIMS,
    NO_EXCERPT,
    QUANTILES,
    ROW_HEAD,
    Bounds,
    Role,
)

RUN = 4  # neighbours in a sample
LARGE = 8192  # elements: mean and extremes of larger tensors are computed now and then
_WITH_BATCH = ("activation", "gradient")
_WIDE = ("float64", "complex128", "int64", "int32", "uint64", "uint32")
_LEAST_REACH = 0.9  # of the tensor, that a sample goes through
_MANY_PLACES = 60  # of a dimension: enough for a sample
_MOST_TRIES = 60
_NOTHING = (0,) * MOST_DIMS
_DTYPE_NAMES = {
    dtype: str(dtype).removeprefix("torch.")
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


@dataclass(slots=True, kw_only=True)
class Pieces:
    """How to take a sample and an excerpt of tensors with one shape, layout in memory and dtype.

    Filled once and used at every step: a plain record.
    """

    head: bytes  # of the row, but for the figures
    num_elements: int
    num_sampled: int
    shape: tuple[int, ...]
    is_whole: bool  # the sample is the tensor
    needs_figures: bool  # of the whole: the sample is not all, or float32 is not enough for them
    is_dense: bool  # its elements lie in memory without gaps, in whatever order
    is_large: bool  # to read all of it more than once takes its time
    run_shape: tuple[int, int]
    run_stride: tuple[int, int]
    room: int  # how far the sample can be shifted
    excerpt_shape: tuple[int, ...] | None  # None: no room, or it has too many dimensions
    excerpt_stride: tuple[int, ...]
    excerpt_bytes: int  # that the whole tensor would take
    is_wanting: bool = False  # there is no room for it whole
    sample_target: Any = None  # the tensor that takes the sample
    excerpt_targets: dict[int, Any] = field(default_factory=dict)  # those that look into each slot


def pieces_of(tensor: Tensor, role: Role, sample_elements: int, excerpt_bytes: int) -> Pieces:
    """For tensors as this one. `excerpt_bytes` is the room for its excerpt."""
    shape, stride, dtype = tuple(tensor.shape), tensor.stride(), _DTYPE_NAMES[tensor.dtype]
    num_elements = tensor.numel()
    is_whole = num_elements <= sample_elements
    num_runs = sample_elements // RUN
    spacing = 0 if is_whole else _spacing(shape, stride, num_runs)
    num_sampled = num_elements if is_whole else num_runs * RUN
    steps = _excerpt_steps(shape, role, excerpt_bytes // tensor.element_size())
    has_excerpt = excerpt_bytes > 0 and steps is not None and dtype in DTYPE_CODES
    taken = tuple(-(-size // step) for size, step in zip(shape, steps or (), strict=False))
    is_cut = has_excerpt and taken != shape

    head = ROW_HEAD.pack(
        IS_SEEN | (IS_CUT if is_cut else 0),
        DTYPE_CODES.get(dtype, 0),
        min(len(shape), MOST_DIMS),
        len(taken) if has_excerpt else NO_EXCERPT,
        num_sampled,
        num_elements,
        *_padded(_shortened(shape)),
        *(_padded(taken) if has_excerpt else _NOTHING),
        *(_padded(tuple(steps or ())) if has_excerpt else _NOTHING),
    )
    return Pieces(
        head=head,
        num_elements=num_elements,
        num_sampled=num_sampled,
        shape=shape,
        is_whole=is_whole,
        needs_figures=num_elements > 0 and (not is_whole or dtype in _WIDE),
        is_dense=_is_dense(shape, stride),
        is_large=num_elements > LARGE,
        run_shape=(num_runs, RUN),
        run_stride=(spacing, 1),
        room=max(1, num_elements - (num_runs - 1) * spacing - RUN + 1),
        excerpt_shape=taken if has_excerpt else None,
        excerpt_stride=tuple(apart * step for apart, step in zip(stride, steps or (), strict=False)),
        excerpt_bytes=num_elements * tensor.element_size(),
    )


@lru_cache(4096)
def _spacing(shape: tuple[int, ...], stride: tuple[int, ...], num_runs: int) -> int:
    """From one run to the next: nearly as far as there is room, and so that they begin at many places.

    Were it a multiple of a row, which it is wherever sizes are powers of two, all runs would lie in the same
    columns. So it is made a little smaller until they are spread over each dimension.
    """
    dims = [(step, size) for step, size in zip(stride, shape, strict=True) if size > 1 and step > 0]
    best, best_spread = 1, -1.0
    num_elements = math.prod(shape)
    spacing = most = (num_elements - min(RUN, num_elements // num_runs)) // (num_runs - 1)
    for _ in range(_MOST_TRIES):
        if spacing < _LEAST_REACH * most:
            break
        places = spacing * numpy.arange(num_runs)
        spread = min(_spread(places, step, size) for step, size in dims) if dims else 1.0
        if spread > best_spread:
            best, best_spread = spacing, spread
        if spread >= 1:
            break
        spacing -= max(1, spacing // 997)
    return best


def _spread(places: NDArray[numpy.int64], step: int, size: int) -> float:
    """How many places of a dimension are met, by how many are enough."""
    return len(numpy.unique(places // step % size)) / min(_MANY_PLACES, 0.8 * size)


def _excerpt_steps(shape: tuple[int, ...], role: Role, most: int) -> list[int] | None:
    """Every how many-th is taken in each dimension, so that there are at most so many elements."""
    if len(shape) > MOST_DIMS or most < 1:
        return None
    steps = [1] * len(shape)
    groups = _groups(len(shape), role)
    while _num_taken(shape, steps) > most:
        counts = {at: -(-shape[at] // steps[at]) for at in groups[0]}
        largest = max(counts, key=lambda at: counts[at])
        if counts[largest] == 1:
            groups = groups[1:]
        else:
            # Halves the number that are taken, so that it ends at one, whatever the size.
            steps[largest] = -(-shape[largest] // -(-counts[largest] // 2))
    return steps


def _groups(num_dims: int, role: Role) -> list[list[int]]:
    """Dimensions in the order in which they are cut; within a group the largest goes first.

    The items of a batch go before the maps of one item, these before pixels; of a weight, its inputs and
    outputs go before its kernel.
    """
    every = list(range(num_dims))
    if role in _WITH_BATCH and num_dims > 1:
        return [[0], [1], every[2:]] if num_dims > 3 else [[0], every[1:]]
    return [every[:2], every[2:]] if num_dims > 2 else [every]


def _num_taken(shape: tuple[int, ...], steps: list[int]) -> int:
    return math.prod(-(-size // step) for size, step in zip(shape, steps, strict=True))


def _is_dense(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    expected = 1
    for step, size in sorted((step, size) for size, step in zip(shape, stride, strict=True) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True


def _shortened(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where there are too many dimensions, the first ones put together."""
    if len(shape) <= MOST_DIMS:
        return shape
    front = len(shape) - MOST_DIMS + 1
    return (math.prod(shape[:front]), *shape[front:])


def _padded(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (*sizes, *_NOTHING)[:MOST_DIMS]


# --- figures of a whole tensor --------------------------------------------------------------------------


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
    if _SMALLEST < max(-low, high) < _LARGEST:  # which nothing is that is not finite
        return _sums(flat, low, high, is_short=is_short)
    return _careful(flat)


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


def _careful(flat: Tensor) -> _Sums:
    """Where something is not finite, or squares are too large or too small: now it may take longer."""
    num_nan = int(flat.isnan().sum())
    finite = flat[flat.isfinite()].double()
    num = finite.numel()
    num_inf = flat.numel() - num_nan - num
    others = num_nan, num_inf, num_inf > 0 and bool((flat == torch.inf).any())
    if not num:
        return _Sums(0, 0.0, 0.0, 0.0, math.inf, -math.inf, *others)
    low, high = finite.amin().item(), finite.amax().item()
    largest = max(-low, high)
    if largest == 0:
        return _Sums(num, 0.0, 0.0, 0.0, 0.0, 0.0, *others)
    sums = _sums(finite / largest, low / largest, high / largest, is_short=True)
    mean, spread, norm = (figure * largest for figure in (sums.mean, sums.spread, sums.norm))
    return _Sums(num, mean, spread, norm, low, high, *others)


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


# --- the numbers of a tensor ----------------------------------------------------------------------------


# None of these is quantized, or stands for its own conjugate.
_USUAL = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64})


def plain(tensor: Tensor) -> Tensor:
    """The numbers of a tensor, whatever kind of tensor it is, without its history."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.layout is torch.strided and tensor.dtype in _USUAL and not tensor.is_neg():
        return tensor
    return _made_plain(tensor)


def _made_plain(tensor: Tensor) -> Tensor:
    if tensor.layout is not torch.strided:
        tensor = tensor.coalesce().values() if tensor.layout is torch.sparse_coo else tensor.values()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor


def real_numbers(tensor: Tensor) -> Tensor:
    """Real numbers that torch can compute with on the CPU without losing what matters."""
    dtype = tensor.dtype
    if dtype is torch.float32 or dtype is torch.float64:
        return tensor
    if dtype.is_complex:
        return tensor.abs()
    return tensor.float() if dtype.is_floating_point else tensor.double()


def units_of(tensor: Tensor, unit_dim: int, most: int) -> Tensor:
    """For each unit of a layer whose values are never negative, whether any of them is other than 0."""
    unit_dim %= tensor.dim()
    others = [dim for dim in range(tensor.dim()) if dim != unit_dim]
    highest = tensor.amax(others) if others else tensor
    return (highest[:: -(-highest.numel() // most)] != 0).to(torch.uint8)


def fine_dtype(dtype: torch.dtype) -> torch.dtype:
    """In which small differences can be seen."""
    return dtype if dtype is torch.float64 or dtype.is_complex else torch.float32


def flat_view(tensor: Tensor) -> Tensor:
    """All elements of a tensor without gaps, in the order in which they lie in memory."""
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
