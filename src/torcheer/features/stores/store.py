"""What a place must be able to do so that features can be kept there, and which place a path or URL is."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.features.journal import Done, Ended, RaggedPlace
from torcheer.features.manifest import ArraySpec

Array = NDArray[Any]


class Rows(Protocol):
    """An array on disk, a row for each sample. Read piece by piece."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> numpy.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...


class Writer(Protocol):
    """What one process writes. Several write to one store at once, never the same rows with other values."""

    def put_rows(self, array: ArraySpec, first: int, values: Array) -> None:
        """Rows from `first` on. They need not be there to stay yet."""

    def put_ragged(self, array: ArraySpec, values: Sequence[Array]) -> RaggedPlace:
        """Samples of different shapes, one after the other."""

    def commit(self, entries: Sequence[Done | Ended]) -> None:
        """All that was put is there to stay; only then the journal says so."""

    def close(self) -> None: ...


class Store(Protocol):
    """A place that holds one set of features. Everything may be done by several processes at once."""

    kind: str  # as the manifest calls it: "npy", "zarr"
    where: str  # for people

    def read(self, name: str) -> bytes | None:
        """A small file; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """A small file, whole or not at all."""

    def write_new(self, name: str, content: bytes) -> bytes:
        """A small file, unless it is there already; what is there then, for everybody."""

    def names(self, folder: str = "") -> list[str]:
        """Of what lies there, whatever it is; but not of what is only begun."""

    def write_texts(self, array: ArraySpec, texts: Array) -> None:
        """A column of texts, known as a whole: the names of all samples."""

    def texts(self, array: ArraySpec) -> Array | None:
        """What write_texts wrote; None where nobody has yet."""

    def journals(self) -> list[bytes]:
        """The contents of all journals, in the order of their names."""

    def make_room(self, arrays: Sequence[ArraySpec], num_rows: int | None, batch_size: int | None) -> None:
        """For so many rows of each, in batches of that size. None: not known, or not always the same.

        It may have been done before, by this process or another.
        """

    def end_at(self, arrays: Sequence[ArraySpec], num_rows: int) -> None:
        """A stream has ended: the arrays have so many rows."""

    def writer(self, name: str) -> Writer:
        """`name` is no other process's."""

    def rows(self, array: ArraySpec, num_rows: int) -> Rows:
        """To be read. Of rows that are not finished nothing is promised."""

    def ragged(self, array: ArraySpec, place: RaggedPlace) -> list[Array]:
        """The samples of one batch."""

    def free_bytes(self) -> int | None:
        """How much more could be written; None where nobody knows."""

    def used_bytes(self) -> int:
        """What its files take up."""


_ENDING = ".zarr"


def store_at(place: str | os.PathLike[str]) -> Store:
    """`features/vgg` is a folder; `s3://bucket/vgg`, `memory://vgg` and `features/vgg.zarr` are Zarr."""
    text = os.fspath(place)
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"{place!r} is no place for features: give a folder, or a URL such as s3://bucket/vgg."
        )
    if "://" in text or text.rstrip("/").endswith(_ENDING):
        from torcheer.features.stores.zarr_store import ZarrStore  # imported here: both import this module

        return ZarrStore(text.rstrip("/"))
    if Path(text).exists() and not Path(text).is_dir():
        raise InputError(f"{text} is a file: features need a folder of their own.")
    from torcheer.features.stores.folder import FolderStore

    return FolderStore(text)


def raw_bytes(values: NDArray[Any]) -> memoryview:
    """One after the other, without a copy where they lie so already."""
    flat = numpy.ascontiguousarray(values).reshape(-1)
    return memoryview(cast(Any, flat.view(numpy.uint8))) if flat.size else memoryview(b"")


def npy_bytes(values: NDArray[Any]) -> bytes:
    """The content of an .npy file."""
    content = io.BytesIO()
    numpy.lib.format.write_array(content, values, allow_pickle=False)
    return content.getvalue()
