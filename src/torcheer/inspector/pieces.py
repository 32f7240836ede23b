"""Which values of a tensor are taken: a sample spread over all of it, and an excerpt that keeps its shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.inspector.frames import (
    DTYPE_CODES,
    IS_CUT,
    IS_SEEN,
    MOST_DIMS,
    NO_EXCERPT,
    ROW_HEAD,
)
from torcheer.inspector.rows import Role

RUN = 4  # neighbours in a sample
LARGE = 8192  # elements: mean and extremes of larger tensors are computed now and then
_WITH_BATCH = ("activation", "gradient")
_WIDE = ("float64", "complex128", "int64", "int32", "uint64", "uint32")
_LEAST_REACH = 0.9  # of the tensor, that a sample goes through
_MANY_PLACES = 60  # of a dimension: enough for a sample
_MOST_TRIES = 60
_NOTHING = (0,) * MOST_DIMS


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What of a tensor says how it is taken."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    item_bytes: int


def pieces_of(outline: Outline, role: Role, sample_elements: int, excerpt_bytes: int) -> Pieces:
    num_elements = math.prod(outline.shape)
    is_whole = num_elements <= sample_elements
    num_runs = sample_elements // RUN
    spacing = 0 if is_whole else _spacing(outline.shape, outline.stride, num_runs)
    num_sampled = num_elements if is_whole else num_runs * RUN
    steps = _excerpt_steps(outline.shape, role, excerpt_bytes // outline.item_bytes)
    has_excerpt = excerpt_bytes > 0 and steps is not None and outline.dtype in DTYPE_CODES
    taken = tuple(-(-size // step) for size, step in zip(outline.shape, steps or (), strict=False))
    is_cut = has_excerpt and taken != outline.shape

    head = ROW_HEAD.pack(
        IS_SEEN | (IS_CUT if is_cut else 0),
        DTYPE_CODES.get(outline.dtype, 0),
        min(len(outline.shape), MOST_DIMS),
        len(taken) if has_excerpt else NO_EXCERPT,
        num_sampled,
        num_elements,
        *_padded(_shortened(outline.shape)),
        *(_padded(taken) if has_excerpt else _NOTHING),
        *(_padded(tuple(steps or ())) if has_excerpt else _NOTHING),
    )
    return Pieces(
        head=head,
        num_elements=num_elements,
        num_sampled=num_sampled,
        shape=outline.shape,
        is_whole=is_whole,
        needs_figures=num_elements > 0 and (not is_whole or outline.dtype in _WIDE),
        is_dense=_is_dense(outline.shape, outline.stride),
        is_large=num_elements > LARGE,
        run_shape=(num_runs, RUN),
        run_stride=(spacing, 1),
        room=max(1, num_elements - (num_runs - 1) * spacing - RUN + 1),
        excerpt_shape=taken if has_excerpt else None,
        excerpt_stride=tuple(
            stride * step for stride, step in zip(outline.stride, steps or (), strict=False)
        ),
        excerpt_bytes=num_elements * outline.item_bytes,
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
