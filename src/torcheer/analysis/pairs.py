"""Every sample with every other: products and distances, in blocks of rows against blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy

from torcheer.analysis.rows import Array, Matrix, Source, raw_rows

_NEAR: Final = 1e-6  # of squared lengths: nearer points are compared unit by unit
_CHUNK_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawBlock:
    at: slice
    values: Array  # as they are stored: half of the bytes of float64, or less, are half of the passes


Affine = Callable[[RawBlock, slice, Matrix], Matrix]  # a block, which of its units, and those as float64


def pairs_of_blocks(source: Source, memory_bytes: int) -> Iterator[tuple[RawBlock, RawBlock]]:
    """All pairs of samples, in pairs of blocks whose products are small.

    One block, as large as half of `memory_bytes` allows, stays while those after it are read. Where
    the samples fill it q times, the disk is read (q + 1) / 2 times over; where all fit in it, once.
    """
    num = source.num_samples
    row_bytes = source.num_units * source.item_bytes
    many = num if source.is_held else max(1, memory_bytes // 2 // row_bytes)
    few = max(1, min(source.rows_at_once(), memory_bytes // 16 // row_bytes))
    # The same room for each of the large blocks: there is none for two.
    room = None if source.is_held else numpy.empty((min(many, num), source.num_units), source.rows.dtype)
    for start in range(0, num, many):
        stop = min(start + many, num)
        kept = RawBlock(at=slice(start, stop), values=raw_rows(source, start, stop, room))
        yield from _tiles(kept, kept)
        for other in range(stop, num, few):
            at = slice(other, min(other + few, num))
            yield from _tiles(kept, RawBlock(at=at, values=source.raw(at.start, at.stop)))


def _tiles(left: RawBlock, right: RawBlock) -> Iterator[tuple[RawBlock, RawBlock]]:
    step = max(1, _CHUNK_BYTES // (8 * len(right.values)))
    for start in range(0, len(left.values), step):
        stop = min(start + step, len(left.values))
        at = slice(left.at.start + start, left.at.start + stop)
        # On the diagonal, the pairs before these are done.
        done = start if right is left else 0
        rest = RawBlock(at=slice(right.at.start + done, right.at.stop), values=right.values[done:])
        yield RawBlock(at=at, values=left.values[start:stop]), rest


def place(values: Matrix, left: RawBlock, right: RawBlock, part: Matrix) -> None:
    """Write what is known about these pairs above and below the diagonal."""
    if left.at.start == right.at.start:
        # Rounding differs above and below it.
        square = part[:, : len(part)]
        part[:, : len(part)] = numpy.triu(square) + numpy.triu(square, 1).T
    values[left.at, right.at] = part
    values[right.at, left.at] = part.T


def products(left: RawBlock, right: RawBlock, affine: Affine) -> Matrix:
    """Rows by rows, in float64, some units at a time."""
    total = numpy.zeros((len(left.values), len(right.values)))
    num_units = left.values.shape[1]
    step = max(1, _CHUNK_BYTES // (8 * (len(left.values) + len(right.values))))
    for start in range(0, num_units, step):
        units = slice(start, min(start + step, num_units))
        one = affine(left, units, left.values[:, units].astype(numpy.float64))
        total += one @ affine(right, units, right.values[:, units].astype(numpy.float64)).T
    return total


def gram(
    source: Source,
    memory_bytes: int,
    affine: Affine | None = None,
    *,
    progress: Callable[[float], object] = lambda _: None,
) -> Matrix:
    """Of all samples: (x_i - shift) (x_j - shift), or of what `affine` makes of them."""
    shift = source.shift

    def less(_: RawBlock, units: slice, chunk: Matrix) -> Matrix:
        return chunk if shift is None else chunk - shift[units]

    values = numpy.empty((source.num_samples, source.num_samples))
    done = 0
    for left, right in pairs_of_blocks(source, memory_bytes):
        place(values, left, right, products(left, right, affine or less))
        done += len(left.values) * len(right.values)
        progress(min(1.0, 2 * done / values.size))
    return values


def squared_distances(source: Source, memory_bytes: int) -> Matrix:
    """Of all samples. Those that lie near one another are compared unit by unit."""
    values = numpy.empty((source.num_samples, source.num_samples))
    known: dict[bytes, int] = {}
    for left, right in pairs_of_blocks(source, memory_bytes):
        place(values, left, right, _squared(left, right, known))
    numpy.fill_diagonal(values, 0.0)
    return values


def _squared(left: RawBlock, right: RawBlock, known: dict[bytes, int]) -> Matrix:
    # Distances do not depend on what is taken away from both.
    centre = left.values.mean(axis=0, dtype=numpy.float64)
    lengths = [_lengths(block.values, centre) for block in (left, right)]
    both = lengths[0][:, None] + lengths[1]
    values = both - 2 * products(left, right, lambda _, units, chunk: chunk - centre[units])
    # Where units are silent, many samples are the same, to the last digit.
    same = _numbers(left.values, known)[:, None] == _numbers(right.values, known)
    values[same] = 0.0
    # The difference of large numbers says little about points that lie near one another.
    is_near = (values < _NEAR * both) & ~same
    for row in numpy.flatnonzero(is_near.any(axis=1)):
        near = numpy.flatnonzero(is_near[row])
        values[row, near] = _exactly(left.values[row], right.values, near)
    return numpy.maximum(values, 0.0)


def _lengths(values: Array, centre: Matrix) -> Matrix:
    total = numpy.empty(len(values))
    step = max(1, _CHUNK_BYTES // (8 * values.shape[1]))
    for start in range(0, len(values), step):
        apart = values[start : start + step].astype(numpy.float64) - centre
        total[start : start + step] = numpy.einsum("ij,ij->i", apart, apart)
    return total


def _numbers(values: Array, known: dict[bytes, int]) -> Array:
    names = (blake2b(row.tobytes(), digest_size=16).digest() for row in values)
    return numpy.array([known.setdefault(name, len(known)) for name in names])


def _exactly(point: Array, others: Array, near: Array) -> Matrix:
    total = numpy.empty(len(near))
    exact = point.astype(numpy.float64)
    step = max(1, _CHUNK_BYTES // (8 * len(point)))
    for start in range(0, len(near), step):
        apart = others[near[start : start + step]].astype(numpy.float64) - exact
        total[start : start + step] = numpy.einsum("ij,ij->i", apart, apart)
    return total
