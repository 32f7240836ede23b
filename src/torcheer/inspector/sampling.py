"""Which values of a tensor are taken: a sample spread over all of it, and an excerpt that keeps its shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import numpy
import torch
from torch import Tensor

from torcheer.inspector.frame_format import (
    DTYPE_CODES,
    MOST_DIMS,
    NO_EXCERPT,
    QUANTILES,
    ROW_HEAD,
    Bounds,
    Role,
    RowFlag,
    Whole,
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
        RowFlag.SEEN | (RowFlag.CUT if is_cut else 0),
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
        # How many places of a dimension are met, by how many are enough.
        met = (
            len(numpy.unique(places // step % size)) / min(_MANY_PLACES, 0.8 * size) for step, size in dims
        )
        spread = min(met, default=1.0)
        if spread > best_spread:
            best, best_spread = spacing, spread
        if spread >= 1:
            break
        spacing -= max(1, spacing // 997)
    return best


def _excerpt_steps(shape: tuple[int, ...], role: Role, most: int) -> list[int] | None:
    """Every how many-th is taken in each dimension, so that there are at most so many elements.

    The items of a batch go before the maps of one item, these before pixels; of a weight, its inputs and
    outputs go before its kernel. Of these groups, the largest dimension goes first.
    """
    if len(shape) > MOST_DIMS or most < 1:
        return None
    every = list(range(len(shape)))
    groups = [every[:2], every[2:]]
    if role in _WITH_BATCH and len(shape) > 1:
        groups = [[0], [1], every[2:]] if len(shape) > 3 else [[0], every[1:]]
    steps, counts = [1] * len(shape), list(shape)  # of those that are taken
    while math.prod(counts) > most:
        largest = max(groups[0], key=counts.__getitem__)
        if counts[largest] == 1:
            groups = groups[1:]
        else:
            # Halves the number that are taken, so that it ends at one, whatever the size.
            steps[largest] = -(-shape[largest] // -(-counts[largest] // 2))
            counts[largest] = -(-shape[largest] // steps[largest])
    return steps


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


_PIECE, _LINE = 1 << 18, 1 << 12  # a piece is made of whole lines
_SMALLEST, _LARGEST = 1e-12, 1e16  # between them, the squares of a piece can be added up as float32
_SPREAD: Final = 0.5  # of the mean square: where the spread is smaller, it is computed around the mean
_HALF: Final = (torch.float16, torch.bfloat16)


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
    if flat.dtype in _HALF:
        return torch.cat([_line_norms(piece) for piece in _pieces(flat)])
    num_lines = flat.numel() // _LINE
    found = []
    if num_lines:
        lines = flat.as_strided((num_lines, _LINE), (_LINE, 1))
        found.append(torch.linalg.vector_norm(lines, dim=1))
    if num_lines * _LINE < flat.numel() or not num_lines:
        found.append(torch.linalg.vector_norm(flat[num_lines * _LINE :]).view(1))
    return found[0] if len(found) == 1 else torch.cat(found)


def _pieces(flat: Tensor) -> Iterator[Tensor]:
    """Stretches that stay in the processor's cache, in numbers that can be added up."""
    for piece in (flat,) if flat.numel() <= _PIECE else torch.split(flat, _PIECE):
        yield piece.float() if piece.dtype in _HALF else piece


def _trusted(flat: Tensor, norm: float) -> Whole:
    """Where squares overflowed or vanished, or something is not finite, it is computed again."""
    if _SMALLEST < norm < math.inf:
        return Whole(norm)
    return _careful(flat)._replace(moments=None) if flat.numel() else Whole(0.0)


def _others(flat: Tensor) -> tuple[int, int, bool]:
    """How many are NaN and infinite, and whether any of these is positive."""
    num_inf = int(flat.isinf().sum())
    return int(flat.isnan().sum()), num_inf, num_inf > 0 and bool((flat == torch.inf).any())


def whole_figures(flat: Tensor) -> Whole:
    """Norm, mean, spread and extremes of a tensor of one dimension on the CPU."""
    num = flat.numel()
    if num > LARGE:
        whole = norms([flat])[0]
    else:  # so short, one sum of float32 is precise, and faster than several
        flat = flat.float() if flat.dtype in _HALF else flat
        whole = Whole(math.sqrt(torch.dot(flat, flat).item()))
    if not _SMALLEST < whole.norm < _LARGEST or whole.num_nan or whole.num_inf:
        return _careful(flat)
    low, high, total = math.inf, -math.inf, 0.0
    for piece in _pieces(flat):
        low, high = min(low, piece.amin().item()), max(high, piece.amax().item())
        total += piece.sum().item()
    mean = min(max(total / num, low), high)
    around = whole.norm**2 - num * mean * mean
    if around < _SPREAD * whole.norm**2:  # all but the mean may have been rounded away
        distances = (norms([piece - mean])[0].norm for piece in _pieces(flat))
        around = sum(distance**2 for distance in distances) if low < high else 0.0
    std = math.sqrt(around / (num - 1)) if num > 1 else math.nan
    return whole._replace(moments=(mean, std, low, high))


def _careful(flat: Tensor) -> Whole:
    """Where something is not finite, or squares are too large or too small: now it may take longer."""
    if not flat.any():
        return Whole(0.0, moments=(0.0, 0.0 if flat.numel() > 1 else math.nan, 0.0, 0.0))
    num, low, high = 0, math.inf, -math.inf
    for piece in _finite_pieces(flat):
        num += piece.numel()
        low, high = min(low, piece.amin().item()), max(high, piece.amax().item())
    if not num:
        return Whole(0.0, *_others(flat), (math.nan,) * 4)
    # By the largest value: squares of float64 overflow from 1e154 on, and vanish below 1e-162.
    scale = max(-low, high) or 1.0
    mean = sum((piece / scale).sum().item() for piece in _finite_pieces(flat)) / num
    distances = (piece / scale - mean for piece in _finite_pieces(flat))
    around = sum(torch.dot(distance, distance).item() for distance in distances)
    std = math.sqrt(around / (num - 1)) if num > 1 else math.nan
    norm = math.sqrt(around + num * mean * mean)
    return Whole(norm * scale, *_others(flat), (mean * scale, std * scale, low, high))


def _finite_pieces(flat: Tensor) -> Iterator[Tensor]:
    for piece in _pieces(flat):
        wide = piece.double()
        wide = wide[wide.isfinite()]
        if wide.numel():
            yield wide


def all_figures(flat: Tensor, bounds: Bounds) -> Whole:
    """Every figure, exactly: puts all values in order, which takes its time."""
    values = (flat if flat.dtype in (torch.float32, torch.float64) else flat.float()).numpy()
    zeros = 1 - numpy.count_nonzero(values) / values.size
    finite = values[numpy.isfinite(values)]
    saturated, quantiles = math.nan, [math.nan] * len(QUANTILES)
    if finite.size:
        quantiles = numpy.quantile(finite.astype(numpy.float64), QUANTILES).tolist()
        start, low, high, end = bounds
        # Beyond its range, it is a layer of this name with bounds of its own, of which nothing is known.
        if not (math.isnan(low) or finite.min() < start or finite.max() > end):
            saturated = float(((finite <= low) | (finite >= high)).mean())
    return whole_figures(flat)._replace(order=(zeros, saturated, *quantiles))


# None of these is quantized, or stands for its own conjugate.
_USUAL = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64})


def plain(tensor: Tensor) -> Tensor:
    """The numbers of a tensor, whatever kind of tensor it is, without its history."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.layout is torch.strided and tensor.dtype in _USUAL and not tensor.is_neg():
        return tensor
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


def sample_of(pieces: Pieces, numbers: Tensor, shift: int) -> Tensor:
    """All of a tensor that lies without gaps, or values from everywhere in it."""
    if pieces.is_whole:
        return numbers
    return numbers.as_strided(pieces.run_shape, pieces.run_stride, numbers.storage_offset() + shift)


def flat_view(tensor: Tensor) -> Tensor:
    """All elements of a tensor without gaps, in the order in which they lie in memory."""
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
