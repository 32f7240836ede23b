"""Write batches as chunks of Zarr, several at once; and journals, an object for each commit."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import numpy

from torcheer.errors import InputError
from torcheer.features.journal import FOLDER, Done, Ended, RaggedPlace, line_of
from torcheer.features.manifest import ArraySpec, safe_name
from torcheer.features.stores.protocol import Array
from torcheer.features.stores.zarrlayout import (
    array_metadata,
    chunk_key,
    encoded,
    folder_of,
    metadata_key,
    part_name,
    rows_metadata,
)
from torcheer.features.stores.zarrplaces import Place
from torcheer.features.stores.zarrreading import NUM_AT_ONCE

_MOST_BYTES: Final = 256 << 20  # of chunks on their way
_PACK: Final = 100  # so many commits are read as one object


class ZarrWriter:
    """One process that writes batches. Each object is written by it alone, whole."""

    def __init__(self, place: Place, name: str, chunk_rows: Callable[[ArraySpec], int | None]) -> None:
        self._place = place
        self._name = name
        self._chunk_rows = chunk_rows
        self._uploads = None if place.is_local else Uploads(place)
        self._unsynced: list[str] = []
        self._num_parts: dict[str, int] = {}
        self._num_commits = 0
        self._pack: list[bytes] = []

    def put_rows(self, array: ArraySpec, first: int, values: Array) -> None:
        whole = numpy.ascontiguousarray(values, dtype=array.numpy_dtype.newbyteorder("<"))
        if whole.shape[1:] != array.shape:
            raise InputError(f"{array.name} has rows of {array.shape}, and these are {whole.shape[1:]}.")
        if not whole.size:
            return
        size = self._chunk_rows(array)
        if size is None:
            name = part_name(array, first)
            self._put(metadata_key(name), encoded(rows_metadata(array, len(whole), len(whole))))
            self._put_chunk(chunk_key(name, 0, len(array.shape)), whole, len(whole))
            return
        if first % size:
            raise InputError(f"{array.name} is kept in batches of {size}, and none begins at row {first:,}.")
        for start in range(0, len(whole), size):
            key = chunk_key(folder_of(array), (first + start) // size, len(array.shape))
            self._put_chunk(key, whole[start : start + size], size)

    def put_ragged(self, array: ArraySpec, values: Sequence[Array]) -> RaggedPlace:
        part = f"{safe_name(self._name)}-{self._num_parts.get(array.file, 0):06d}"
        self._num_parts[array.file] = self._num_parts.get(array.file, 0) + 1
        kind = array.numpy_dtype.newbyteorder("<")
        pieces = [numpy.ascontiguousarray(one, dtype=kind).reshape(-1) for one in values]
        flat = numpy.concatenate(pieces) if pieces else numpy.empty(0, kind)
        name = f"{folder_of(array)}/{part}"
        self._put(metadata_key(name), encoded(array_metadata(array, flat.shape, len(flat), ("value",))))
        if flat.size:
            self._put_chunk(chunk_key(name, 0, 0), flat, len(flat))
        return RaggedPlace(part=part, start=0, shapes=tuple(one.shape for one in values))

    def commit(self, entries: Sequence[Done | Ended]) -> None:
        if self._uploads is not None:
            self._uploads.wait()
        self._place.sync(self._unsynced)
        self._unsynced.clear()
        if not entries:
            return
        lines = b"".join(map(line_of, entries))
        self._place.put(f"{FOLDER}/{_journal_name(self._name, self._num_commits)}", lines)
        self._pack.append(lines)
        if len(self._pack) == _PACK:
            self._place.put(f"{FOLDER}/{_pack_name(self._name, self._num_commits)}", b"".join(self._pack))
            self._pack.clear()
        self._num_commits += 1

    def close(self) -> None:
        if self._uploads is not None:
            self._uploads.close()

    def _put_chunk(self, key: str, rows: Array, num_rows: int) -> None:
        if len(rows) < num_rows:  # a chunk always has all its rows, also where the data ends within it
            rows = numpy.concatenate([rows, numpy.zeros((num_rows - len(rows), *rows.shape[1:]), rows.dtype)])
        self._put(key, rows.reshape(-1).view(numpy.uint8).data)

    def _put(self, key: str, content: bytes | memoryview) -> None:
        if self._uploads is not None:
            self._uploads.put(key, bytes(content))  # a copy: the values may be overwritten by the next batch
        else:
            self._place.put_chunk(key, content)
            self._unsynced.append(key)


class Uploads:
    """Objects on their way to a distant place: several at once, never more than a certain number of bytes."""

    def __init__(self, place: Place, most_bytes: int = _MOST_BYTES) -> None:
        self._place = place
        self._most_bytes = most_bytes
        self._pending: deque[tuple[Future[None], int]] = deque()  # and their bytes
        self._error: BaseException | None = None
        self._pool = ThreadPoolExecutor(NUM_AT_ONCE, "torcheer-upload")

    def put(self, key: str, content: bytes) -> None:
        """Waits while too much is on its way; what is larger than all that goes alone."""
        while self._pending and sum(size for _, size in self._pending) + len(content) > self._most_bytes:
            self._wait_for_first()
        self._pending.append((self._pool.submit(self._place.put_chunk, key, content), len(content)))

    def wait(self) -> None:
        """Until all have arrived. One that did not is an error from then on: nothing is called finished."""
        while self._pending:
            self._wait_for_first()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _wait_for_first(self) -> None:
        upload, _ = self._pending.popleft()
        self._error = upload.exception() or self._error
        if self._error is not None:
            raise self._error


def _journal_name(writer: str, number: int) -> str:
    return f"{writer}-{number:06d}.jsonl"


def _pack_name(writer: str, last: int) -> str:
    return f"{writer}-{last:06d}.packed.jsonl"


_JOURNAL: Final = re.compile(r"(.+)-(\d{6,})\.jsonl")


def journals_to_read(names: Sequence[str]) -> list[str]:
    """Of all that are there: what stands in a pack is not read a second time."""
    there = {name for name in names if name.endswith(".jsonl")}
    found = []
    for name in sorted(there):
        parts = _JOURNAL.fullmatch(name)
        if parts is None or _pack_name(parts[1], int(parts[2]) // _PACK * _PACK + _PACK - 1) not in there:
            found.append(name)
    return found
