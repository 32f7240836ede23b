"""What is analysed: a row for each sample, read from the disk some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.netview.analysis.points import Array, Matrix

Indices = NDArray[numpy.int64]

MEMORY_BYTES: Final = 1 << 30
_BLOCK_BYTES: Final = 64 << 20


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
