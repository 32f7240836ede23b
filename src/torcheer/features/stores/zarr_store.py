"""Features as Zarr (version 3) in a folder or at a URL: one array a layer, one chunk a batch.

The library `zarr` writes the arrays. A batch is a chunk, so a write is aligned and reads nothing back, and a
chunk has one writer: the processes need not know of each other. A chunk is not compressed: the values of
most layers shrink by a tenth only, and one row could no longer be read without its batch.

Rows are read here, by byte ranges: zarr reads whole chunks, and gives zeros for a chunk that is gone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError, InputError
from torcheer.features.journal import FOLDER, Done, Ended, RaggedPlace, line_of, read_journals
from torcheer.features.manifest import NAME, NO_JSON, ArraySpec, safe_name
from torcheer.features.stores.folder import Array, FolderStore, num_values, split_ragged
from torcheer.features.xarray_dataset import dimension_names
from torcheer.tensorfile import sync_folder

Numbers = NDArray[numpy.int64]

_METADATA: Final = "zarr.json"
_ABOUT: Final = "torcheer"  # a group without arrays, for small files
_RESERVED: Final = frozenset((_METADATA, _ABOUT, FOLDER, NAME))
_NUM_AT_ONCE: Final = 8  # requests: a distant place answers late, but answers many
_MOST_UPLOAD_BYTES: Final = 256 << 20  # on their way
_COMMITS_PER_JOURNAL: Final = 100  # an object cannot be appended to: it is written again, until it is full


def _zarr() -> Any:
    try:
        import zarr
        import zarr.storage
    except ImportError as error:
        raise InputError("features as Zarr need zarr: pip install 'torcheer[zarr]'.") from error
    return zarr


class LocalObjects(FolderStore):
    """In a folder on a disk that all processes see. Keys are such as `features.6/c.3.0.0.0`."""

    is_local = True

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder} is a file: features need a folder of their own.")

    @cached_property
    def store(self) -> Any:
        return _zarr().storage.LocalStore(self.folder)

    def sync(self, keys: Sequence[str]) -> None:
        """What zarr wrote under these keys is durable afterwards."""
        paths = [self.folder / key for key in keys]
        # A disk takes many of them together in the time of one.
        with ThreadPoolExecutor(_NUM_AT_ONCE) as pool:
            list(pool.map(_sync_file, paths))
        folders = {parent for path in paths for parent in path.parents if parent.is_relative_to(self.folder)}
        for folder in sorted(folders, reverse=True):
            sync_folder(folder)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RemoteObjects:
    """At a URL, through a store of zarr. What is put there is durable."""

    is_local = False

    def __init__(self, store: Any) -> None:
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.sync import sync

        self.store = store
        self._prototype = default_buffer_prototype()
        self._wait = sync
        # fsspec wraps what is no object store, such as sftp and smb: it has folders, which must be made.
        self._folders: Any = getattr(getattr(store, "fs", None), "sync_fs", None)
        self._made: set[str] = set()

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        from zarr.abc.store import RangeByteRequest

        part = None if end is None else RangeByteRequest(start, end)
        try:
            found = self._wait(self.store.get(key, self._prototype, part))
        except Exception:
            if part is None:
                raise
            whole = self.read(key)  # an object that ends before `start` is an error in some places
            return None if whole is None else whole[start:end]
        return None if found is None else bytes(found.to_bytes())

    def write(self, key: str, content: bytes) -> None:
        """Whole or not at all: an object store does so by itself, in a folder it is written beside."""
        if self._folders is None:
            self._wait(self.store.set(key, self._prototype.buffer.from_bytes(content)))
            return
        path = self._path(key)
        beside = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.partial"
        self._folders.pipe_file(beside, content)
        try:
            self._folders.mv(beside, path)
        except OSError:  # some refuse to move it over another file
            self._folders.pipe_file(path, content)
            self._folders.rm_file(beside)

    def write_new(self, key: str, content: bytes) -> bytes:
        """Of several processes one writes it, wherever the place can tell who is the first."""
        if self.read(key) is not None:
            pass
        elif self._folders is not None:
            self.write(key, content)
        elif hasattr(self.store, "fs"):
            try:
                self._wait(self.store.fs._pipe_file(f"{self.store.path}/{key}", content, mode="create"))
            except FileExistsError:
                pass
            except (TypeError, NotImplementedError):  # it cannot
                self.write(key, content)
        else:
            self._wait(self.store.set_if_not_exists(key, self._prototype.buffer.from_bytes(content)))
        found = self.read(key)
        return content if found is None else found

    def _path(self, key: str) -> str:
        path = f"{self.store.path}/{key}"
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            self._folders.makedirs(folder, exist_ok=True)
            self._made.add(folder)
        return path

    def names(self, folder: str) -> list[str]:
        if hasattr(self.store, "fs"):
            self.store.fs.invalidate_cache()  # others write, too

        async def listed() -> list[str]:
            return [name async for name in self.store.list_dir(folder)]

        return sorted(name for name in self._wait(listed()) if not name.endswith(".partial"))

    def sync(self, keys: Sequence[str]) -> None:
        pass

    def used_bytes(self) -> int:
        return int(self._wait(self.store.getsize_prefix("")))

    def free_bytes(self) -> int | None:
        return None


Objects = LocalObjects | RemoteObjects
_users_of_obstore: set[int] = set()  # processes


def objects_at(url: str) -> Objects:
    """fsspec first, for it reaches more places; obstore where the package that fsspec needs is missing."""
    if url.endswith(":"):
        raise InputError(f"{url}// names no place: give a whole URL, such as s3://bucket/vgg.")
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme in ("", "file", "local"):
        return LocalObjects(url.split("://", 1)[-1])  # as it stands: fsspec does not decode it, either
    reasons = []
    for library, opened in (("fsspec", _by_fsspec), ("obstore", _by_obstore)):
        try:
            return RemoteObjects(opened(url))
        except (ImportError, ValueError) as error:
            reasons.append(f"{library} says: {str(error).splitlines()[0]}")
    raise InputError(
        f"nothing here can reach {url} ({'; '.join(reasons)}): pip install 'torcheer[zarr]' and the package "
        "that fsspec asks for, or pip install obstore."
    )


def _by_fsspec(url: str) -> Any:
    import fsspec.core

    fsspec.core.url_to_fs(url)  # says in one line what is missing
    return _zarr().storage.FsspecStore.from_url(url)


def _by_obstore(url: str) -> Any:
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    # Its threads do not come along when a process is forked: whoever asks it there waits for ever.
    if _users_of_obstore - {os.getpid()}:
        raise ValueError("after a fork it does not work; start the process with 'spawn', or use fsspec")
    _users_of_obstore.add(os.getpid())
    try:
        return _zarr().storage.ObjectStore(from_url(url))
    except BaseError as error:
        raise ValueError(str(error)) from error


class ZarrStore:
    """A Zarr group. `objects`: where no URL names the place."""

    kind = "zarr"

    def __init__(self, url: str | os.PathLike[str], objects: Objects | None = None) -> None:
        self.where = os.fspath(url).rstrip("/")
        self._given = objects
        # Whether there is a way to get there is said now, and not in the midst of the work.
        self._opened = None if objects is not None else (os.getpid(), objects_at(self.where))

    @property
    def objects(self) -> Objects:
        """Opened again after a fork: connections belong to the process that made them."""
        if self._given is not None:
            return self._given
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = os.getpid(), objects_at(self.where)
        return self._opened[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"where": self.where, "_given": self._given, "_opened": None}

    def read(self, name: str) -> bytes | None:
        return self.objects.read(_file_key(name))

    def write(self, name: str, content: bytes) -> None:
        self.objects.write(_file_key(name), content)

    def write_new(self, name: str, content: bytes) -> bytes:
        return self.objects.write_new(_file_key(name), content)

    def names(self, folder: str = "") -> list[str]:
        return self.objects.names(folder)

    def write_texts(self, array: ArraySpec, texts: Array) -> None:
        self.write(_texts_name(array), msgspec.json.encode([str(text) for text in texts]))

    def texts(self, array: ArraySpec) -> Array | None:
        content = self.read(_texts_name(array))
        if content is None:
            return None
        try:
            return numpy.array(msgspec.json.decode(content, type=list[str]), dtype=numpy.str_)
        except NO_JSON as error:
            raise FileFormatError(
                f"{self.where}/{_file_key(_texts_name(array))} is damaged: {error}."
            ) from error

    def journals(self) -> list[bytes]:
        names = [name for name in self.objects.names(FOLDER) if name.endswith(".jsonl")]
        with ThreadPoolExecutor(_NUM_AT_ONCE) as pool:
            found = list(pool.map(self.objects.read, [f"{FOLDER}/{name}" for name in names]))
        return [content for content in found if content is not None]

    def make_room(self, arrays: Sequence[ArraySpec], num_rows: int | None, batch_size: int | None) -> None:
        """Of a stream, and with batches of different sizes, each batch is an array of its own."""
        stored = [array for array in arrays if not array.is_text]
        whole: dict[str, Any] = {}
        for array in stored:
            if array.layout == "rows" and num_rows is not None and batch_size:
                content = rows_metadata(array, num_rows, batch_size)
                whole[folder_of(array)] = msgspec.json.decode(content)
            else:
                content = _group_metadata({"name": array.name, "role": array.role})
            self._write_once(f"{folder_of(array)}/{_METADATA}", content)
        for name in (_ABOUT, FOLDER):  # else zarr wonders what they are
            self._write_once(f"{name}/{_METADATA}", _group_metadata({}))
        columns = [array.file for array in stored if array.role != "layer" and array.file in whole]
        attributes = {"coordinates": " ".join(columns)} if columns else {}
        # With the metadata of all arrays, where they are known: they need not be listed then.
        root = _group_metadata(attributes, whole if len(whole) == len(stored) else None)
        self._write_once(_METADATA, root)

    def _write_once(self, key: str, content: bytes) -> None:
        if self.objects.read(key) != content:
            self.objects.write(key, content)

    def end_at(self, arrays: Sequence[ArraySpec], num_rows: int) -> None:
        """The journals say where a stream has ended, and its batches are arrays of their own."""

    def writer(self, name: str) -> ZarrWriter:
        return ZarrWriter(self, name)

    def chunk_rows(self, array: ArraySpec) -> int | None:
        """How many rows a chunk has; None where each batch is an array of its own."""
        key = f"{folder_of(array)}/{_METADATA}"
        content = self.objects.read(key)
        if content is None:
            where = f"{self.where}/{key}"
            raise FileFormatError(f"{where} is gone, and the manifest names it: extract the features again.")
        try:
            return _chunk_rows_of(content, array)
        except (*NO_JSON, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise FileFormatError(f"{self.where}/{key} is damaged: {error}.") from error

    def rows(self, array: ArraySpec, num_rows: int) -> ZarrRows:
        return ZarrRows(self, array, num_rows, self.chunk_rows(array))

    def ragged(self, array: ArraySpec, place: RaggedPlace) -> list[Array]:
        size, kind = num_values(place, array, self.where), array.numpy_dtype.newbyteorder("<")
        start, end = place.start * kind.itemsize, (place.start + size) * kind.itemsize
        key = chunk_key(f"{folder_of(array)}/{place.part}", 0, 0)
        content = self.objects.read(key, start, end) if size else b""
        if content is None or len(content) < end - start:
            what = "is gone" if content is None else f"ends before value {place.start + size:,}"
            raise FileFormatError(f"{self.where}/{key} {what}, and the journals say that it was written.")
        return split_ragged(numpy.frombuffer(content, kind).astype(array.numpy_dtype), place.shapes)

    def free_bytes(self) -> int | None:
        return self.objects.free_bytes()

    def used_bytes(self) -> int:
        return self.objects.used_bytes()


def _file_key(name: str) -> str:
    """Of a small file. The manifest is where it is in a folder, too: by it features are found."""
    return name if name == NAME else f"{_ABOUT}/{name}"


def _texts_name(array: ArraySpec) -> str:
    return f"texts/{array.file}.json"


def folder_of(array: ArraySpec) -> str:
    return f"{array.file}.layer" if array.file.lower() in _RESERVED else array.file


def chunk_key(name: str, number: int, num_dims: int) -> str:
    """Of the chunk with these rows: along all other dimensions there is only one."""
    return f"{name}/c.{number}" + ".0" * num_dims


def part_name(array: ArraySpec, first: int) -> str:
    """Of a batch that is an array of its own."""
    return f"{folder_of(array)}/{first:012d}"


def array_metadata(array: ArraySpec, shape: tuple[int, ...], chunk_rows: int, dims: Sequence[str]) -> bytes:
    """The zarr.json that zarr writes for such an array."""
    zarr, kept = _zarr(), dict[str, Any]()
    zarr.create_array(
        zarr.storage.MemoryStore(kept),
        shape=shape,
        dtype=array.numpy_dtype.newbyteorder("<"),
        chunks=tuple(max(1, size) for size in (chunk_rows, *shape[1:])),
        compressors=None,
        filters=None,
        fill_value=0,
        chunk_key_encoding={"name": "default", "separator": "."},
        attributes={"name": array.name, "role": array.role},
        dimension_names=dims,
    )
    return bytes(kept[_METADATA].to_bytes())


def rows_metadata(array: ArraySpec, num_rows: int, chunk_rows: int) -> bytes:
    return array_metadata(array, (num_rows, *array.shape), chunk_rows, dimension_names(array))


def _group_metadata(attributes: dict[str, Any], arrays: dict[str, Any] | None = None) -> bytes:
    found: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    if arrays:
        found["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": arrays}
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def _chunk_rows_of(content: bytes, array: ArraySpec) -> int | None:
    found: dict[str, Any] = msgspec.json.decode(content, type=dict)
    if found["node_type"] == "group":
        return None
    grid, codec = found["chunk_grid"]["configuration"]["chunk_shape"], found["codecs"][0]
    expected = {
        "node_type": (found["node_type"], "array"),
        "shape": (found["shape"][1:], list(array.shape)),
        "data_type": (found["data_type"], array.numpy_dtype.name),
        "chunk_grid": (grid[1:], [max(1, size) for size in array.shape]),
        "chunk_key_encoding": (found["chunk_key_encoding"]["configuration"]["separator"], "."),
        "codecs": (codec.get("configuration", {}).get("endian", "little"), "little"),
        "codec": ([one["name"] for one in found["codecs"]], ["bytes"]),
    }
    for about, (there, wanted) in expected.items():
        if there != wanted:
            raise ValueError(f"its {about} is {there}, and the manifest says {wanted}")
    if not isinstance(grid[0], int) or grid[0] < 1:
        raise ValueError(f"a chunk cannot have {grid[0]} rows")
    return grid[0]


class ZarrWriter:
    """One process that writes batches. Each chunk is written by it alone, whole."""

    def __init__(self, store: ZarrStore, name: str) -> None:
        self._store = store
        self._objects = store.objects
        self._name = name
        self._chunk_rows: dict[str, int | None] = {}
        self._arrays: dict[str, Any] = {}
        self._unsynced: list[str] = []
        self._num_parts: dict[str, int] = {}
        self._num_commits = 0
        self._journal = b""
        # Several uploads at once.
        self._pool = None if self._objects.is_local else ThreadPoolExecutor(_NUM_AT_ONCE, "torcheer-upload")
        self._uploads: list[Future[None]] = []
        self._upload_bytes = 0

    def put_rows(self, array: ArraySpec, first: int, values: Array) -> None:
        whole = numpy.ascontiguousarray(values, dtype=array.numpy_dtype.newbyteorder("<"))
        if not whole.size:
            return
        if array.file not in self._chunk_rows:
            self._chunk_rows[array.file] = self._store.chunk_rows(array)
        size = self._chunk_rows[array.file]
        if size is None:
            name = part_name(array, first)
            self._put_whole(name, rows_metadata(array, len(whole), len(whole)), whole)
            return
        name = folder_of(array)
        if name not in self._arrays:
            self._arrays[name] = self._opened(name)
        chunks = range(first // size, -(-(first + len(whole)) // size))
        keys = [chunk_key(name, number, len(array.shape)) for number in chunks]
        self._put(self._arrays[name], slice(first, first + len(whole)), whole, keys)

    def put_ragged(self, array: ArraySpec, values: Sequence[Array]) -> RaggedPlace:
        part = f"{safe_name(self._name)}-{self._num_parts.get(array.file, 0):06d}"
        self._num_parts[array.file] = self._num_parts.get(array.file, 0) + 1
        kind = array.numpy_dtype.newbyteorder("<")
        flat = numpy.concatenate([numpy.empty(0, kind), *(numpy.ravel(one).astype(kind) for one in values)])
        metadata = array_metadata(array, flat.shape, len(flat), ("value",))
        self._put_whole(f"{folder_of(array)}/{part}", metadata, flat)
        return RaggedPlace(part=part, start=0, shapes=tuple(one.shape for one in values))

    def commit(self, entries: Sequence[Done | Ended]) -> None:
        self._wait()
        self._objects.sync(self._unsynced)
        self._unsynced.clear()
        if not entries:
            return
        number, place = divmod(self._num_commits, _COMMITS_PER_JOURNAL)
        self._journal = (self._journal if place else b"") + b"".join(map(line_of, entries))
        self._objects.write(f"{FOLDER}/{self._name}-{number:06d}.jsonl", self._journal)
        self._num_commits += 1

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _put_whole(self, name: str, metadata: bytes, values: Array) -> None:
        """As an array of its own, of one chunk."""
        self._objects.write(f"{name}/{_METADATA}", metadata)
        if values.size:
            self._put(self._opened(name), ..., values, [chunk_key(name, 0, values.ndim - 1)])

    def _opened(self, name: str) -> Any:
        zarr = _zarr()
        # A batch of zeros is written, too: a chunk that is not there is damage. `open_array` takes no such
        # option for an array that exists.
        with zarr.config.set({"array.write_empty_chunks": True}):
            return zarr.open_array(self._objects.store, path=name, mode="r+")

    def _put(self, opened: Any, at: Any, values: Array, keys: list[str]) -> None:
        if self._pool is None:
            opened[at] = values
            self._unsynced += keys
            return
        if len(self._uploads) >= _NUM_AT_ONCE or self._upload_bytes + values.nbytes > _MOST_UPLOAD_BYTES:
            self._wait()
        self._upload_bytes += values.nbytes
        # A copy: the values may be overwritten by the next batch.
        self._uploads.append(self._pool.submit(opened.__setitem__, at, values.copy()))

    def _wait(self) -> None:
        """Until all have arrived. One that did not stays: from then on nothing is called finished."""
        for upload in self._uploads:
            upload.result()
        self._uploads.clear()
        self._upload_bytes = 0


class ZarrRows:
    """Rows of one layer, indexed as NumPy arrays are. Reads only those that are asked for."""

    def __init__(self, store: ZarrStore, spec: ArraySpec, num_rows: int, chunk_rows: int | None) -> None:
        self._store = store
        self._spec = spec
        self.shape = (num_rows, *spec.shape)
        self.dtype = spec.numpy_dtype
        self._chunk_rows = chunk_rows  # None: batches are arrays of their own, as the journals name them

    @cached_property
    def _batches(self) -> list[tuple[int, int]]:
        """Where each batch that is an array of its own begins and ends."""
        spans = [(one.first, one.first + one.rows) for one in self._done if one.rows]
        return sorted((first, end) for first, end in spans if end <= len(self))

    def _span(self, chunk: int) -> tuple[int, int]:
        if self._chunk_rows is None:
            return self._batches[chunk]
        first = chunk * self._chunk_rows
        return first, min(first + self._chunk_rows, len(self))

    @cached_property
    def _done(self) -> list[Done]:
        return list(read_journals(self._store.journals()).done.values())

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any, /) -> Any:
        """Reads the rows that the first part of the key names; the rest of it is NumPy's."""
        first, *rest = (key or (...,)) if isinstance(key, tuple) else (key,)
        if isinstance(first, slice):
            return self._read(numpy.arange(*first.indices(len(self))))[(slice(None), *rest)]
        wanted = numpy.asarray(False if first is ... or first is None else first)
        if wanted.dtype == bool and wanted.shape == (len(self),):
            wanted = numpy.flatnonzero(wanted)
        elif not wanted.size:
            wanted = wanted.astype(numpy.int64)
        if wanted.dtype.kind not in "iu":
            return self._read(numpy.arange(len(self)))[key]  # ..., None, a mask of all values: NumPy knows
        wanted = wanted.astype(numpy.int64)  # the number of samples may not fit into a small type
        numbers = numpy.where(wanted < 0, wanted + len(self), wanted)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"there is no sample {first}: there are {len(self):,}.")
        places = numpy.arange(numbers.size).reshape(numbers.shape)
        return self._read(numbers.reshape(-1))[(places, *rest)]

    def _read(self, numbers: Numbers) -> Array:
        """Rows that are in no chunk are zeros."""
        found = numpy.zeros((len(numbers), *self.shape[1:]), self.dtype)
        if self._chunk_rows is not None:
            chunks = numbers // self._chunk_rows
        else:  # -1 before the first
            firsts = numpy.array([first for first, _ in self._batches], dtype=numpy.int64)
            chunks = numpy.searchsorted(firsts, numbers, side="right") - 1
        order = numpy.argsort(chunks, kind="stable")
        wanted_chunks, starts = numpy.unique(chunks[order], return_index=True)
        places = dict(zip(wanted_chunks.tolist(), numpy.split(order, starts[1:]), strict=False))
        places.pop(-1, None)

        def read(chunk: int) -> None:
            first, end = self._span(chunk)
            at = places[chunk][numbers[places[chunk]] < end]
            if len(at):
                wanted = numbers[at] - first
                low, high = int(wanted.min()), int(wanted.max()) + 1
                found[at] = self._read_chunk(chunk, low, high)[wanted - low]

        if not found.size:
            return found
        if self._store.objects.is_local or len(places) < 2:
            for chunk in places:
                read(chunk)
            return found
        with ThreadPoolExecutor(_NUM_AT_ONCE) as pool:
            list(pool.map(read, places))
        return found

    def _read_chunk(self, chunk: int, low: int, high: int) -> Array:
        """Some rows of it. Of a chunk that is not finished nothing is promised."""
        (first, end), size = self._span(chunk), self._spec.row_bytes
        is_part = self._chunk_rows is None
        name, number = (part_name(self._spec, first), 0) if is_part else (folder_of(self._spec), chunk)
        key = chunk_key(name, number, len(self._spec.shape))
        content = self._store.objects.read(key, low * size, high * size)
        if content is None or len(content) < (high - low) * size:
            if any(one.first < end and first < one.first + one.rows for one in self._done):
                what = "is gone" if content is None else f"ends before its row {high:,}"
                raise FileFormatError(
                    f"{self._store.where}/{key} {what}, and the journals say that it was written."
                )
            content = (content or b"").ljust((high - low) * size, b"\0")
        kind = self.dtype.newbyteorder("<")
        return numpy.frombuffer(content, kind).reshape(high - low, *self.shape[1:])
