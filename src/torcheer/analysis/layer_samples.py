"""The samples of a layer: a row for each, a column for each unit; in memory, or read in blocks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError
from torcheer.graph import readable_bytes

Array = NDArray[Any]
Indices = NDArray[numpy.int64]
Matrix = NDArray[numpy.float64]
Samples = int | ArrayLike | None

MEMORY_BYTES: Final = 1 << 30
_BLOCK_BYTES: Final = 64 << 20


def points_of(given: ArrayLike, *, what: str = "points", is_finite: bool = False) -> Array:
    """Items down, units across, as real numbers of whatever type. `is_finite`: nothing else will do."""
    points = numpy.asarray(given)
    if points.ndim < 1 or points.dtype.kind not in "fiub":
        raise InputError(
            f"{what} must be an array of real numbers with a row for each item, and not {points.dtype} of "
            f"the shape {points.shape}."
        )
    points = points.reshape(len(points), -1) if points.size else points.reshape(len(points), 0)
    if not points.size:
        raise InputError(f"{what} of the shape {points.shape} hold nothing: give a row for each item.")
    if is_finite and not numpy.isfinite(points).all():
        items = numpy.flatnonzero(~numpy.isfinite(points).all(axis=1))
        raise InputError(
            f"{what} hold NaN or infinities, first in item {items[0]}, in {len(items)} of {len(points)}: "
            "leave those items out."
        )
    return points


def labels_of(given: ArrayLike, num_items: int) -> Array:
    labels = numpy.asarray(given)
    if labels.shape != (num_items,):
        raise InputError(
            f"labels of the shape {labels.shape} do not go with {num_items:,} items: give one for each."
        )
    return labels


class Rows(Protocol):
    """A layer: an array, a memory map, or whatever reads like one."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> numpy.dtype[Any]: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Some rows, one after the other: `at` says which."""

    at: slice
    values: Array  # rows by units: float64, or as they are stored, which may be half of the bytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """The samples of a layer that were chosen, as (samples, units), in blocks of a bounded size."""

    rows: Rows
    samples: Indices  # sorted
    num_units: int
    block_bytes: int
    shift: Matrix | None = None  # taken away from every row as it becomes float64
    is_held: bool = False  # in memory, and looked through already

    @property
    def num_samples(self) -> int:
        return len(self.samples)

    @property
    def item_bytes(self) -> int:
        return int(self.rows.dtype.itemsize)

    def rows_at_once(self, *, extra_columns: int = 0) -> int:
        """As float64, with room for so many numbers more in each row."""
        return max(1, self.block_bytes // (8 * (self.num_units + extra_columns)))

    def raw(self, start: int, stop: int) -> Array:
        """As they are stored, without the shift."""
        chosen = self.samples[start:stop]
        first, last = int(chosen[0]), int(chosen[-1])
        is_run = last - first + 1 == len(chosen)
        read = numpy.asarray(self.rows[slice(first, last + 1) if is_run else chosen])
        read = read.reshape(len(chosen), -1)
        if not self.is_held and read.dtype.kind == "f" and not numpy.isfinite(read).all():
            wrong = chosen[int(numpy.flatnonzero(~numpy.isfinite(read).all(axis=1))[0])]
            raise InputError(
                f"sample {wrong} holds NaN or infinities, and may not be the only one: leave such samples "
                "out (samples=…)."
            )
        return read

    def blocks(self, num_rows: int | None = None) -> Iterator[Block]:
        """One pass. The values may be a view of what is held: they are not to be written to."""
        step = num_rows or self.rows_at_once()
        for start in range(0, self.num_samples, step):
            stop = min(start + step, self.num_samples)
            values = numpy.asarray(self.raw(start, stop), numpy.float64)
            if self.shift is not None:
                values = values - self.shift
            yield Block(at=slice(start, stop), values=values)


def source_of(rows: Rows, samples: Indices, *, memory_bytes: int) -> Source:
    """A layer of real numbers that is not empty, or an error."""
    dtype = numpy.dtype(rows.dtype)
    if dtype.kind not in "fiub":
        raise InputError(f"a layer of {dtype} cannot be analysed: give real numbers.")
    num_units = int(numpy.prod(rows.shape[1:], dtype=numpy.int64))
    if not len(samples) or not num_units:
        raise InputError(
            f"a layer of the shape {tuple(rows.shape)} holds nothing: give a row for each sample."
        )
    return Source(
        rows=rows, samples=samples, num_units=num_units, block_bytes=min(_BLOCK_BYTES, memory_bytes // 8)
    )


def shifted(source: Source) -> Source:
    """With about the mean taken away, that large means do not eat up the digits. Reads one block."""
    block = numpy.asarray(source.raw(0, min(source.rows_at_once(), source.num_samples)), numpy.float64)
    return replace(source, shift=block.mean(axis=0))


def in_memory(values: Matrix) -> Source:
    return Source(
        rows=values,
        samples=numpy.arange(len(values)),
        num_units=values.shape[1],
        block_bytes=_BLOCK_BYTES,
        is_held=True,
    )


def check_memory(memory_bytes: int) -> None:
    if memory_bytes < 1:
        raise InputError(f"memory_bytes is {memory_bytes}: give a positive number, such as {MEMORY_BYTES}.")


def check_fits(what: str, num_bytes: int, memory_bytes: int, fix: str) -> None:
    """`what`: the things that are too large, and their verb."""
    if num_bytes > memory_bytes:
        raise InputError(
            f"{what} {readable_bytes(num_bytes)}, and {readable_bytes(memory_bytes)} may be used: {fix}, or "
            f"allow more (memory_bytes={num_bytes})."
        )


def chosen_samples(num_rows: int, samples: Samples, labels: Array | None = None) -> Indices:
    """Sorted, each once.

    A number takes that many, evenly spaced; with `labels`, as many of each label as it goes.
    """
    if samples is None:
        return numpy.arange(num_rows)
    given = numpy.asarray(samples)
    if given.ndim == 0 and given.dtype.kind in "iu":
        if not 0 < given <= num_rows:
            raise InputError(f"samples is {given:,}, and there are {num_rows:,}: take 1 to {num_rows:,}.")
        return _so_many(num_rows, int(given), labels)
    if given.dtype.kind == "b" and given.shape == (num_rows,):
        return numpy.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise InputError(
            f"samples is {samples!r}, which names no samples: give their number, their indices, True and "
            f"False for each of {num_rows:,}, or None for all."
        )
    chosen = numpy.unique(given).astype(numpy.int64)
    if chosen[0] < 0 or chosen[-1] >= num_rows:
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise InputError(f"there is no sample {wrong}: indices go from 0 to {num_rows - 1:,}.")
    if len(chosen) != len(given):
        raise InputError("samples names some of them more than once: take numpy.unique of them.")
    return chosen


def _so_many(num_rows: int, count: int, labels: Array | None) -> Indices:
    if labels is None:
        return _spaced(count, num_rows)
    _, number, sizes = numpy.unique(labels, return_inverse=True, return_counts=True)
    # The same of each, as far as there are so many: first one of each label, then a second one, and so on.
    rounds = numpy.concatenate([numpy.arange(size) for size in sizes])
    label_of = numpy.repeat(numpy.arange(len(sizes)), sizes)
    shares = numpy.bincount(label_of[numpy.argsort(rounds, kind="stable")[:count]], minlength=len(sizes))
    taken = [
        numpy.flatnonzero(number == label)[_spaced(int(share), int(size))]
        for label, (share, size) in enumerate(zip(shares, sizes, strict=True))
    ]
    return numpy.sort(numpy.concatenate(taken))


def _spaced(count: int, size: int) -> Indices:
    return numpy.arange(count) * size // max(count, 1)


_NEAR: Final = 1e-6  # of squared lengths: nearer points are compared unit by unit
_CHUNK_BYTES: Final = 4 << 20


Affine = Callable[[Block, slice, Matrix], Matrix]  # a block, which of its units, and those as float64


def pairs_of_blocks(source: Source, memory_bytes: int) -> Iterator[tuple[Block, Block]]:
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
        if room is None:
            values = source.raw(start, stop)
        else:  # as they are stored, block by block
            values = room[: stop - start]
            for low in range(start, stop, source.rows_at_once()):
                high = min(low + source.rows_at_once(), stop)
                values[low - start : high - start] = source.raw(low, high)
        kept = Block(at=slice(start, stop), values=values)
        yield from _tiles(kept, kept)
        for other in range(stop, num, few):
            at = slice(other, min(other + few, num))
            yield from _tiles(kept, Block(at=at, values=source.raw(at.start, at.stop)))


def _tiles(left: Block, right: Block) -> Iterator[tuple[Block, Block]]:
    step = max(1, _CHUNK_BYTES // (8 * len(right.values)))
    for start in range(0, len(left.values), step):
        stop = min(start + step, len(left.values))
        at = slice(left.at.start + start, left.at.start + stop)
        # On the diagonal, the pairs before these are done.
        done = start if right is left else 0
        rest = Block(at=slice(right.at.start + done, right.at.stop), values=right.values[done:])
        yield Block(at=at, values=left.values[start:stop]), rest


def place(values: Matrix, left: Block, right: Block, part: Matrix) -> None:
    """Write what is known about these pairs above and below the diagonal."""
    if left.at.start == right.at.start:
        # Rounding differs above and below it.
        square = part[:, : len(part)]
        part[:, : len(part)] = numpy.triu(square) + numpy.triu(square, 1).T
    values[left.at, right.at] = part
    values[right.at, left.at] = part.T


def products(left: Block, right: Block, affine: Affine) -> Matrix:
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

    def less(_: Block, units: slice, chunk: Matrix) -> Matrix:
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
    for left, right in pairs_of_blocks(source, memory_bytes):
        place(values, left, right, _squared(left, right))
    numpy.fill_diagonal(values, 0.0)
    return values


def _squared(left: Block, right: Block) -> Matrix:
    # Distances do not depend on what is taken away from both.
    centre = left.values.mean(axis=0, dtype=numpy.float64)
    lengths = [_squared_lengths(block.values, slice(None), centre) for block in (left, right)]
    both = lengths[0][:, None] + lengths[1]
    values = both - 2 * products(left, right, lambda _, units, chunk: chunk - centre[units])
    # The difference of large numbers says little about points that lie near one another.
    is_near = values < _NEAR * both
    for row in numpy.flatnonzero(is_near.any(axis=1)):
        near, point = numpy.flatnonzero(is_near[row]), left.values[row].astype(numpy.float64)
        values[row, near] = _squared_lengths(right.values, near, point)
    return numpy.maximum(values, 0.0)


def _squared_lengths(values: Array, which: Array | slice, centre: Matrix) -> Matrix:
    """Of the rows that are meant, seen from `centre`, some at a time."""
    rows = numpy.arange(len(values))[which]
    total = numpy.empty(len(rows))
    step = max(1, _CHUNK_BYTES // (8 * values.shape[1]))
    for start in range(0, len(rows), step):
        apart = values[rows[start : start + step]].astype(numpy.float64) - centre
        total[start : start + step] = numpy.einsum("ij,ij->i", apart, apart)
    return total


class MissingLibraryError(InputError):
    """An analysis needs a library that is not installed; the message says how to get it."""


def needed(module: str, what: str) -> Any:
    """Import a module of scikit-learn or SciPy, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = "SciPy" if module.startswith("scipy") else "scikit-learn"
        raise MissingLibraryError(f"{what} needs {library}: pip install 'torcheer[analysis]'.") from error
