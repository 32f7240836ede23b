"""Read rows out of the chunks of Zarr: only those that are asked for, from several chunks at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError
from torcheer.features.journal import Progress
from torcheer.features.manifest import ArraySpec
from torcheer.features.stores.protocol import Array
from torcheer.features.stores.zarrlayout import chunk_key, folder_of, part_name
from torcheer.features.stores.zarrplaces import Place

Numbers = NDArray[numpy.int64]

NUM_AT_ONCE: Final = 8  # chunks on their way: a distant place answers late, but answers many


class Source(Protocol):
    """What is asked of the store. The place may be another after a fork."""

    where: str

    @property
    def place(self) -> Place: ...
    def progress(self) -> Progress: ...


class Chunks(Protocol):
    """Which rows are in which object."""

    def holding(self, rows: Numbers) -> Numbers:
        """For each row the number of its chunk; of a row that is in none, -1 or that of one before it."""

    def span(self, chunk: int) -> tuple[int, int]:
        """Its first row, and the one after its last."""

    def key(self, chunk: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EvenChunks:
    """All of one size, but for the last."""

    array: ArraySpec
    size: int
    num_rows: int

    def holding(self, rows: Numbers) -> Numbers:
        return rows // self.size

    def span(self, chunk: int) -> tuple[int, int]:
        return chunk * self.size, min((chunk + 1) * self.size, self.num_rows)

    def key(self, chunk: int) -> str:
        return chunk_key(folder_of(self.array), chunk, len(self.array.shape))


class ListedChunks:
    """Batches that are arrays of their own, as the journals name them."""

    def __init__(self, array: ArraySpec, progress: Progress, num_rows: int) -> None:
        spans = sorted((one.first, one.first + one.rows) for one in progress.done.values() if one.rows > 0)
        self._array = array
        self._spans = [(first, end) for first, end in spans if first >= 0 and end <= num_rows]
        self._firsts = numpy.array([first for first, _ in self._spans], dtype=numpy.int64)

    def holding(self, rows: Numbers) -> Numbers:
        return numpy.searchsorted(self._firsts, rows, side="right") - 1

    def span(self, chunk: int) -> tuple[int, int]:
        return self._spans[chunk]

    def key(self, chunk: int) -> str:
        return chunk_key(part_name(self._array, self._spans[chunk][0]), 0, len(self._array.shape))


class ZarrRows:
    """Rows of one layer, indexed as NumPy arrays are."""

    def __init__(self, source: Source, spec: ArraySpec, num_rows: int, chunks: Chunks) -> None:
        self._source = source
        self._spec = spec
        self._chunks = chunks
        self.shape = (num_rows, *spec.shape)
        self.dtype = spec.numpy_dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return numpy.array(self[:], dtype=dtype, copy=copy)

    def __getitem__(self, key: Any, /) -> Any:
        """Reads the rows that the first part of the key names; the rest of it is NumPy's."""
        first, *rest = (key or (...,)) if isinstance(key, tuple) else (key,)
        if isinstance(first, int | numpy.integer) and not isinstance(first, bool):
            return self._read(_one(int(first), len(self)))[(0, *rest)]
        if isinstance(first, slice):
            numbers = numpy.arange(*first.indices(len(self)))
            return self._read(numbers)[(slice(None), *rest)]
        wanted = numpy.asarray(first) if isinstance(first, list | tuple | range | numpy.ndarray) else None
        if wanted is not None and wanted.dtype == bool and wanted.shape == (len(self),):
            wanted = numpy.flatnonzero(wanted)
        if wanted is None or wanted.dtype.kind not in "iu":
            if wanted is not None and not wanted.size:
                wanted = wanted.astype(numpy.int64)
            else:  # ..., None, a mask of all values: whatever it is, NumPy knows
                return self._read(numpy.arange(len(self)))[key]
        numbers = numpy.arange(len(self))[wanted]
        places = numpy.arange(numbers.size).reshape(numbers.shape)
        return self._read(numbers.reshape(-1))[(places, *rest)]

    def _read(self, numbers: Numbers) -> Array:
        found = numpy.zeros((len(numbers), *self.shape[1:]), self.dtype)
        if not found.size:
            return found
        chunks = self._chunks.holding(numbers)
        order = numpy.argsort(chunks, kind="stable")
        starts = numpy.flatnonzero(numpy.diff(chunks[order], prepend=-2))
        groups = numpy.split(order, starts[1:])

        def read(group: Numbers) -> None:
            self._read_chunk(int(chunks[group[0]]), numbers, group, found)

        self._for_each(read, groups)
        return found

    def _for_each(self, read: Callable[[Any], None], groups: list[Any]) -> None:
        if self._source.place.is_local or len(groups) == 1:
            for group in groups:
                read(group)
            return
        with ThreadPoolExecutor(min(NUM_AT_ONCE, len(groups))) as pool:
            for _ in pool.map(read, groups):
                pass

    def _read_chunk(self, chunk: int, numbers: Array, group: Numbers, found: Array) -> None:
        """The rows `numbers[group]` into `found[group]`. Rows that are in no chunk stay as they are."""
        if chunk < 0:
            return
        first, end = self._chunks.span(chunk)
        group = group[numbers[group] < end]
        if not len(group):
            return
        wanted = numbers[group] - first
        low, high = int(wanted.min()), int(wanted.max()) + 1
        kind = self.dtype.newbyteorder("<")
        if kind == self.dtype and _is_run(group) and _is_run(wanted):
            self._fill(found[group[0] : group[-1] + 1], chunk, low)
        else:
            rows = numpy.zeros((high - low, *self.shape[1:]), kind)
            self._fill(rows, chunk, low)
            found[group] = rows[wanted - low]

    def _fill(self, rows: Array, chunk: int, low: int) -> None:
        """With the rows of a chunk from `low` on. Of one that is not finished nothing is promised."""
        size, key = self._spec.row_bytes, self._chunks.key(chunk)
        num_bytes = self._source.place.get_into(key, low * size, rows.reshape(-1).view(numpy.uint8).data)
        if num_bytes == rows.nbytes or not self._is_done(*self._chunks.span(chunk)):
            return
        what = "is gone" if num_bytes is None else f"ends before its row {low + len(rows):,}"
        raise FileFormatError(f"{self._source.where}/{key} {what}, and the journals say that it was written.")

    def _is_done(self, first: int, end: int) -> bool:
        return any(one.first < end and first < one.first + one.rows for one in self._progress.done.values())

    @cached_property
    def _progress(self) -> Progress:
        return self._source.progress()


def _one(number: int, length: int) -> Numbers:
    found = number + length if number < 0 else number
    if not 0 <= found < length:
        raise IndexError(f"there is no sample {number}: there are {length:,}.")
    return numpy.array([found])


def _is_run(numbers: Numbers) -> bool:
    return bool((numpy.diff(numbers) == 1).all())
