"""What is analysed: a row for each sample, a column for each unit; in memory, or read in blocks."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError

Array = NDArray[Any]
Indices = NDArray[numpy.int64]
Matrix = NDArray[numpy.float64]
Samples = int | ArrayLike | None

MEMORY_BYTES: Final = 1 << 30
_BLOCK_BYTES: Final = 64 << 20
_CHUNK_NUMBERS: Final = 4 << 20  # that are turned into float64 at once


# --- arrays in memory ------------------------------------------------------------------------------------


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


def chunks_of_units(points: Array, centre: Matrix | None = None) -> Iterator[Matrix]:
    """All items, some units at a time, so that a large layer needs no second copy of itself.

    `centre` is taken away: a number for each unit, or one for each item as a column.
    """
    num_units = max(1, _CHUNK_NUMBERS // len(points))
    for start in range(0, points.shape[1], num_units):
        chunk = points[:, start : start + num_units].astype(numpy.float64)
        if centre is not None:
            chunk -= centre if centre.ndim == 2 else centre[start : start + num_units]
        yield chunk


# --- layers on the disk ----------------------------------------------------------------------------------


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
    values: Matrix  # rows by units


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


def held(source: Source, limit_bytes: int) -> Source:
    """In memory, where it fits: as float64 with the shift done, or else as it is stored. One pass."""
    numbers = source.num_samples * source.num_units
    if numbers * 8 > limit_bytes:
        if numbers * source.item_bytes > limit_bytes:
            return source
        stored = _filled(source, numpy.empty((source.num_samples, source.num_units), source.rows.dtype))
        return replace(source, rows=stored, samples=numpy.arange(len(stored)), is_held=True)
    values = numpy.empty((source.num_samples, source.num_units))
    for block in source.blocks():
        values[block.at] = block.values
    return in_memory(values, block_bytes=source.block_bytes)


def in_memory(values: Matrix, *, block_bytes: int = _BLOCK_BYTES) -> Source:
    return Source(
        rows=values,
        samples=numpy.arange(len(values)),
        num_units=values.shape[1],
        block_bytes=block_bytes,
        is_held=True,
    )


def raw_rows(source: Source, start: int, stop: int, room: Array | None) -> Array:
    """Many rows as they are stored, read block by block into `room`. What is held needs none."""
    if room is None:
        return source.raw(start, stop)
    return _filled(replace(source, samples=source.samples[start:stop]), room[: stop - start])


def check_memory(memory_bytes: int) -> None:
    if memory_bytes < 1:
        raise InputError(f"memory_bytes is {memory_bytes}: give a positive number, such as {MEMORY_BYTES}.")


def as_size(num_bytes: float) -> str:
    """For people."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if num_bytes >= size:
            return f"{num_bytes / size:,.1f} {unit}"
    return f"{num_bytes / 1e3:,.1f} kB"


def _filled(source: Source, array: Array) -> Array:
    step = source.rows_at_once()
    for start in range(0, source.num_samples, step):
        stop = min(start + step, source.num_samples)
        array[start:stop] = source.raw(start, stop)
    return array


# --- which samples ---------------------------------------------------------------------------------------


def chosen_samples(num_rows: int, samples: Samples, labels: Array | None = None) -> Indices:
    """Sorted, each once.

    A number takes that many, evenly spaced; with `labels`, as many of each label as it goes.
    """
    if samples is None:
        return numpy.arange(num_rows)
    if numpy.ndim(samples) == 0:
        return _so_many(num_rows, _count_of(samples, num_rows), labels)
    return _named(num_rows, numpy.asarray(samples))


def _count_of(samples: object, num_rows: int) -> int:
    try:
        count = operator.index(samples)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(
            f"samples is {samples!r}: give a number of samples, an array of their indices, or None for all."
        ) from None
    if not 0 < count <= num_rows:
        raise InputError(f"samples is {count:,}, and there are {num_rows:,}: take 1 to {num_rows:,}.")
    return count


def _so_many(num_rows: int, count: int, labels: Array | None) -> Indices:
    if labels is None:
        return _spaced(count, num_rows)
    _, number, sizes = numpy.unique(labels, return_inverse=True, return_counts=True)
    shares = _even_shares(sizes, count)
    taken = [
        numpy.flatnonzero(number == label)[_spaced(int(share), int(size))]
        for label, (share, size) in enumerate(zip(shares, sizes, strict=True))
    ]
    return numpy.sort(numpy.concatenate(taken))


def _even_shares(sizes: Indices, count: int) -> Indices:
    """The same of each, as far as there are so many; what is left goes to the first that have more."""
    shares = numpy.zeros(len(sizes), numpy.int64)
    while (left := count - int(shares.sum())) > 0:
        has_more = numpy.flatnonzero(shares < sizes)
        each = left // len(has_more)
        if not each:
            shares[has_more[:left]] += 1
        shares[has_more] = numpy.minimum(shares[has_more] + each, sizes[has_more])
    return shares


def _spaced(count: int, size: int) -> Indices:
    return numpy.arange(count) * size // max(count, 1)


def _named(num_rows: int, given: Array) -> Indices:
    if given.dtype.kind == "b" and given.shape == (num_rows,):
        return numpy.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise InputError(
            f"samples of the shape {given.shape} and {given.dtype} name no samples: give their indices, or "
            f"True and False for each of {num_rows:,}."
        )
    chosen = numpy.unique(given).astype(numpy.int64)
    if chosen[0] < 0 or chosen[-1] >= num_rows:
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise InputError(f"there is no sample {wrong}: indices go from 0 to {num_rows - 1:,}.")
    if len(chosen) != len(given):
        raise InputError(
            f"samples names {len(given) - len(chosen):,} of them more than once: take numpy.unique of them."
        )
    return chosen
