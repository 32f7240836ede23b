"""Features as Zarr (version 3) in a folder or at a URL: one array a layer, one chunk a batch.

The format is written and read here, byte by byte: a chunk is what is in memory, and the library `zarr` is
needed only to open it without torcheer. All processes write the same metadata, each chunk is one process's,
and nothing is ever read in order to be changed: they need not know of each other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy

from torcheer.errors import FileFormatError
from torcheer.features.journal import FOLDER, Progress, RaggedPlace, read_journals
from torcheer.features.manifest import NO_JSON, ArraySpec, safe_name
from torcheer.features.rawbytes import npy_bytes
from torcheer.features.stores.folder import disk_bytes_of
from torcheer.features.stores.protocol import Array, Rows
from torcheer.features.stores.zarrlayout import (
    ABOUT,
    chunk_key,
    chunk_rows_of,
    encoded,
    file_key,
    folder_of,
    group_metadata,
    metadata_key,
    rows_metadata,
)
from torcheer.features.stores.zarrplaces import Place, place_at
from torcheer.features.stores.zarrreading import NUM_AT_ONCE, EvenChunks, ListedChunks, ZarrRows
from torcheer.features.stores.zarrwriting import ZarrWriter, journals_to_read


class ZarrStore:
    """A Zarr group. `place` is for places that no URL names."""

    kind = "zarr"

    def __init__(self, url: str | os.PathLike[str], place: Place | None = None) -> None:
        self.where = os.fspath(url).rstrip("/")
        self._given = place
        # Whether there is a way to get there is told now, not in the midst of the work.
        self._opened = None if place is not None else (os.getpid(), place_at(self.where))

    @property
    def place(self) -> Place:
        """Opened again after a fork: connections belong to the process that made them."""
        if self._given is not None:
            return self._given
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = os.getpid(), place_at(self.where)
        return self._opened[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"where": self.where, "_given": self._given, "_opened": None}

    # --- small files ---------------------------------------------------------------------------------------

    def read(self, name: str) -> bytes | None:
        return self.place.get(file_key(name))

    def write(self, name: str, content: bytes) -> None:
        self.place.put(file_key(name), content)

    def write_new(self, name: str, content: bytes) -> bytes:
        if self.place.put_new(file_key(name), content):
            return content
        found = self.read(name)
        return content if found is None else found

    def strangers(self) -> list[str]:
        return sorted(name for name in self.place.names("") if not name.startswith("."))

    def write_places(self, array: ArraySpec, places: Array) -> None:
        name, content = f"places/{array.file}.npy", npy_bytes(places)
        if self.read(name) != content:
            self.write(name, content)

    def write_texts(self, array: ArraySpec, texts: Array) -> None:
        self.write(_texts_key(array), msgspec.json.encode([str(text) for text in texts]))

    def texts(self, array: ArraySpec) -> Array | None:
        content = self.read(_texts_key(array))
        if content is None:
            return None
        try:
            return numpy.array(msgspec.json.decode(content, type=list[str]), dtype=numpy.str_)
        except NO_JSON as error:
            raise FileFormatError(
                f"{self.where}/{file_key(_texts_key(array))} is damaged: {error}."
            ) from error

    def num_disk_bytes(self) -> int:
        return disk_bytes_of(Path(self.where)) if self.place.is_local else sys.maxsize

    def journals(self) -> list[bytes]:
        keys = [f"{FOLDER}/{name}" for name in journals_to_read(self.place.names(FOLDER))]
        if self.place.is_local or len(keys) < 2:
            found = [self.place.get(key) for key in keys]
        else:
            with ThreadPoolExecutor(NUM_AT_ONCE) as pool:
                found = list(pool.map(self.place.get, keys))
        return [content for content in found if content is not None]

    def progress(self) -> Progress:
        return read_journals(self.journals())

    # --- arrays --------------------------------------------------------------------------------------------

    def make_room(self, arrays: Sequence[ArraySpec], num_rows: int | None, batch_size: int | None) -> None:
        """Of a stream, and with batches of different sizes, each batch is an array of its own."""
        whole: dict[str, dict[str, Any]] = {}
        stored = [array for array in arrays if not array.is_text]
        for array in stored:
            if array.layout == "rows" and num_rows is not None and batch_size:
                whole[folder_of(array)] = rows_metadata(array, num_rows, batch_size)
            else:
                about = {"name": array.name, "role": array.role}
                self._write_metadata(folder_of(array), group_metadata(about))
        for name, metadata in whole.items():
            self._write_metadata(name, metadata)
        columns = [array.file for array in stored if array.role != "layer" and array.file in whole]
        for name in (ABOUT, FOLDER):  # else zarr wonders what they are
            self._write_metadata(name, group_metadata({}))
        attributes = {"coordinates": " ".join(columns)} if columns else {}
        self._write_metadata("", group_metadata(attributes, whole if len(whole) == len(stored) else None))

    def _write_metadata(self, name: str, metadata: dict[str, Any]) -> None:
        key, content = metadata_key(name), encoded(metadata)
        if self.place.get(key) != content:
            self.place.put(key, content)

    def end_at(self, arrays: Sequence[ArraySpec], num_rows: int) -> None:
        """The journals say where a stream has ended, and its batches are arrays of their own."""

    def writer(self, name: str) -> ZarrWriter:
        known: dict[str, int | None] = {}

        def chunk_rows(array: ArraySpec) -> int | None:
            if array.file not in known:
                known[array.file] = self._chunk_rows(array)
            return known[array.file]

        return ZarrWriter(self.place, name, chunk_rows)

    def _chunk_rows(self, array: ArraySpec) -> int | None:
        key = metadata_key(folder_of(array))
        content = self.place.get(key)
        if content is None:
            where = f"{self.where}/{key}"
            raise FileFormatError(f"{where} is gone, and the manifest names it: extract the features again.")
        return chunk_rows_of(content, array, self.where)

    def rows(self, array: ArraySpec, num_rows: int) -> Rows:
        size = self._chunk_rows(array)
        chunks = (
            ListedChunks(array, self.progress(), num_rows)
            if size is None
            else EvenChunks(array=array, size=size, num_rows=num_rows)
        )
        return ZarrRows(self, array, num_rows, chunks)

    def ragged(self, array: ArraySpec, place: RaggedPlace) -> list[Array]:
        if not _is_sound(place):
            raise FileFormatError(
                f"the journals of {self.where} name {place.part!r}, which is no part of {array.name}."
            )
        sizes = [int(numpy.prod(shape, dtype=numpy.int64)) for shape in place.shapes]
        key = chunk_key(f"{folder_of(array)}/{place.part}", 0, 0)
        kind = array.numpy_dtype.newbyteorder("<")
        start, end = place.start * kind.itemsize, (place.start + sum(sizes)) * kind.itemsize
        content = self.place.get(key, start, end) if sum(sizes) else b""
        if content is None:
            raise FileFormatError(f"{self.where}/{key} is gone, and the journals say that it was written.")
        if len(content) < end - start:
            raise FileFormatError(
                f"{self.where}/{key} ends before value {place.start + sum(sizes):,}: it was cut off."
            )
        values = numpy.frombuffer(content, kind).astype(array.numpy_dtype)
        pieces = numpy.split(values, numpy.cumsum(sizes)[:-1]) if sizes else []
        return [piece.reshape(shape) for piece, shape in zip(pieces, place.shapes, strict=True)]

    # --- room ----------------------------------------------------------------------------------------------

    def free_bytes(self) -> int | None:
        return self.place.free_bytes()

    def used_bytes(self) -> int:
        return self.place.used_bytes()


def _texts_key(array: ArraySpec) -> str:
    return f"texts/{array.file}.json"


def _is_sound(place: RaggedPlace) -> bool:
    """A journal may come from anywhere, too."""
    is_name = place.part == safe_name(place.part) and not place.part.startswith(".")
    return is_name and min((place.start, *(size for shape in place.shapes for size in shape))) >= 0
