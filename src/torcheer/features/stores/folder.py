"""Features in a folder: one .npy file a layer, which NumPy alone can read or map into memory.

Rows are written with pwrite at their place, not through a memory map: a full disk is then an error that can
be told and not a signal, and what was written does not count as memory of this process.
"""

from __future__ import annotations

import io
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError
from torcheer.features.journal import FOLDER, Done, Ended, RaggedPlace, line_of
from torcheer.features.manifest import ArraySpec
from torcheer.tensorfile import NoOrdinaryFileError, open_file, sync_folder

Array = NDArray[Any]

_LARGEST_WRITE: Final = 256 << 20  # at once: some systems take no more than 2 GB


class FolderStore:
    """A folder on a disk that all processes see."""

    kind = "npy"

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.where = str(folder)
        self._streamed: tuple[ArraySpec, ...] = ()  # arrays whose length nobody knows before

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes | None:
        """A small file, or a part of it; None where there is none."""
        try:
            with open_file(self.folder / name) as file:
                file.seek(start)
                if end is None:
                    return file.read()
                # Python makes room for all bytes before it reads one.
                return file.read(max(min(end, os.fstat(file.fileno()).st_size) - start, 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (IsADirectoryError, NoOrdinaryFileError) as error:
            raise FileFormatError(
                f"{self.folder / name} is no ordinary file, and no part of features."
            ) from error

    def write(self, name: str, content: bytes) -> None:
        """A small file, whole or not at all."""
        with self._beside(name, content) as (beside, path):
            os.replace(beside, path)

    def write_new(self, name: str, content: bytes) -> bytes:
        """A small file, unless it is there already; what is there then, for everybody."""
        with self._beside(name, content) as (beside, path):
            try:
                os.link(beside, path)
            except FileExistsError:
                return self.read(name) or b""
            except OSError:  # a disk without links
                if path.exists():
                    return self.read(name) or b""
                os.replace(beside, path)
        return content

    @contextmanager
    def _beside(self, name: str, content: bytes) -> Iterator[tuple[Path, Path]]:
        """Written whole under another name, so that nobody ever sees a part of it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
        try:
            with open(beside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield beside, path
        finally:
            beside.unlink(missing_ok=True)
        sync_folder(path.parent)

    def names(self, folder: str = "") -> list[str]:
        """Of what lies there, whatever it is; but not of what is only begun."""
        try:
            found = os.listdir(self.folder / folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if not name.startswith("."))

    def write_texts(self, array: ArraySpec, texts: Array) -> None:
        """A column of texts, known as a whole: the names of all samples."""
        content = io.BytesIO()
        numpy.save(content, texts.astype(numpy.str_), allow_pickle=False)
        self.write(_file_of(array), content.getvalue())

    def texts(self, array: ArraySpec) -> Array | None:
        content = self.read(_file_of(array))
        if content is None:
            return None
        try:
            return numpy.load(io.BytesIO(content), allow_pickle=False)  # type: ignore[no-any-return]
        except (ValueError, EOFError, SyntaxError, MemoryError) as error:
            raise FileFormatError(f"{self.folder / _file_of(array)} is damaged: {error}.") from error

    def journals(self) -> list[bytes]:
        names = [name for name in self.names(FOLDER) if name.endswith(".jsonl")]
        return [self.read(f"{FOLDER}/{name}") or b"" for name in names]

    def make_room(self, arrays: Sequence[ArraySpec], num_rows: int | None, batch_size: int | None) -> None:
        """For so many rows of each; None: a stream. It may have been done before, by any process."""
        (self.folder / FOLDER).mkdir(parents=True, exist_ok=True)
        stored = tuple(filter(_is_rows, arrays))
        self._streamed = stored if num_rows is None else ()
        for array in stored:
            # Of a stream another process may have written the end: only that it is an .npy file is sure.
            self._write_header(array, num_rows or 0, known=None if num_rows is not None else 8)
        sync_folder(self.folder)

    def end_at(self, arrays: Sequence[ArraySpec], num_rows: int) -> None:
        """A stream has ended: the arrays have so many rows."""
        for array in filter(_is_rows, arrays):
            self._write_header(array, num_rows)

    def _write_header(self, array: ArraySpec, num_rows: int, known: int | None = None) -> None:
        """And room for so many rows, unless it is there. `known`: so many bytes of a header tell that."""
        header = _header(array, num_rows)
        size = len(header) + num_rows * array.row_bytes
        descriptor = os.open(self.folder / _file_of(array), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            # Never shorter: another process may have written already.
            if num_rows and os.fstat(descriptor).st_size < size:
                os.ftruncate(descriptor, size)
            known = known or len(header)
            if os.pread(descriptor, known, 0) != header[:known]:
                _write_all(descriptor, header, 0)
            os.fsync(descriptor)
            # On a network disk a page that was read may be written back whole, over rows of others.
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)

    def writer(self, name: str) -> FolderWriter:
        """`name` is no other process's."""
        return FolderWriter(self.folder, name, self._streamed)

    def rows(self, array: ArraySpec, num_rows: int) -> Array:
        """To be read. Of rows that are not finished nothing is promised."""
        path = self.folder / _file_of(array)
        shape = (num_rows, *array.shape)
        if not num_rows * array.row_bytes:
            return numpy.empty(shape, array.numpy_dtype)
        try:
            open_file(path).close()  # NumPy would wait for a pipe
            return numpy.memmap(path, array.numpy_dtype, "r", len(_header(array, 0)), shape)
        except (FileNotFoundError, NoOrdinaryFileError) as error:
            raise FileFormatError(
                f"{path} is gone, about to be made, or no ordinary file. Extract the features again."
            ) from error
        except ValueError as error:
            raise FileFormatError(f"{path} is too short for {num_rows:,} samples: it was cut off.") from error

    def ragged(self, array: ArraySpec, place: RaggedPlace) -> list[Array]:
        """The samples of one batch."""
        size = num_values(place, array, self.where)
        part = self.folder / f"{place.part}.npy"
        item_bytes = array.numpy_dtype.itemsize
        start = len(_header(_flat(array), 0)) + place.start * item_bytes
        try:
            with open_file(part) as file:
                # NumPy makes room for all values before it reads one.
                if size and os.fstat(file.fileno()).st_size < start + size * item_bytes:
                    raise FileFormatError(f"{part} ends before value {place.start + size:,}: it was cut off.")
                file.seek(start)
                values = numpy.fromfile(file, array.numpy_dtype, size)
        except NoOrdinaryFileError as error:
            raise FileFormatError(f"{part} is no ordinary file. Extract the features again.") from error
        return split_ragged(values, place.shapes)

    def free_bytes(self) -> int | None:
        """How much more could be written; None where nobody knows."""
        there = next(path for path in (self.folder, *self.folder.absolute().parents) if path.exists())
        return shutil.disk_usage(there).free

    def used_bytes(self) -> int:
        """Holes do not count: room that was only promised is not taken."""
        found = 0
        for place, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):
                    status = os.stat(os.path.join(place, name), follow_symlinks=False)
                    found += min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
        return found


class FolderWriter:
    """One process that writes rows into the files of a folder, and a journal of what is there to stay."""

    def __init__(self, folder: Path, name: str, streamed: Sequence[ArraySpec] = ()) -> None:
        self._folder = folder
        self._name = name
        self._streamed = streamed
        self._files: dict[str, int] = {}
        self._unsynced: set[str] = set()
        self._lengths: dict[str, tuple[ArraySpec, int]] = {}  # of ragged parts, in values
        self._journal: int | None = None

    def put_rows(self, array: ArraySpec, first: int, values: Array) -> None:
        file = _file_of(array)
        whole = numpy.ascontiguousarray(values, dtype=array.numpy_dtype)
        place = len(_header(array, 0)) + first * array.row_bytes
        if whole.size:
            _write_all(self._open(file), raw_bytes(whole), place)
            self._unsynced.add(file)

    def put_ragged(self, array: ArraySpec, values: Sequence[Array]) -> RaggedPlace:
        part = f"{array.file}.{self._name}"
        file = f"{part}.npy"
        _, start = self._lengths.get(file, (array, 0))
        end = start
        header = _header(_flat(array), 0)
        for one in values:
            flat = numpy.ascontiguousarray(one, dtype=array.numpy_dtype).reshape(-1)
            if flat.size:
                place = len(header) + end * array.numpy_dtype.itemsize
                _write_all(self._open(file), raw_bytes(flat), place)
                end += flat.size
        self._open(file)
        self._lengths[file] = (array, end)
        self._unsynced.add(file)
        return RaggedPlace(part=part, start=start, shapes=tuple(one.shape for one in values))

    def commit(self, entries: Sequence[Done | Ended]) -> None:
        for entry in entries:
            if not isinstance(entry, Ended):
                continue
            # Once it is known how many rows there are, the files have room for all: others may lag behind.
            for array in self._streamed:
                file = _file_of(array)
                size = len(_header(array, 0)) + entry.total_rows * array.row_bytes
                if os.fstat(self._open(file)).st_size < size:
                    os.ftruncate(self._open(file), size)
                    self._unsynced.add(file)
        for file in sorted(self._unsynced):
            if file in self._lengths:
                array, length = self._lengths[file]
                _write_all(self._files[file], _header(_flat(array), length), 0)
            os.fdatasync(self._files[file])
        self._unsynced.clear()
        if not entries:
            return
        if self._journal is None:
            path = self._folder / FOLDER / f"{self._name}.jsonl"
            self._journal = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
            )
            sync_folder(path.parent)
        view = memoryview(b"".join(map(line_of, entries)))
        while view:
            view = view[os.write(self._journal, view) :]
        os.fdatasync(self._journal)

    def close(self) -> None:
        if self._journal is not None:
            os.close(self._journal)
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files, self._journal = {}, None

    def _open(self, file: str) -> int:
        if file not in self._files:
            path = self._folder / file
            # Not to be read, too: a network disk might then write whole pages, with others' old rows in them.
            self._files[file] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            sync_folder(self._folder)
        return self._files[file]


def raw_bytes(values: Array) -> memoryview:
    """One after the other, without a copy where they lie so already."""
    flat = numpy.ascontiguousarray(values).reshape(-1)
    return memoryview(cast(Any, flat.view(numpy.uint8))) if flat.size else memoryview(b"")


def num_values(place: RaggedPlace, array: ArraySpec, where: str) -> int:
    """Of a batch. A journal may come from anywhere: a part must be no path, and no size negative."""
    is_name = place.part and not place.part.startswith(".") and not set(place.part) & set("/\\\0")
    if not is_name or min((place.start, *(size for shape in place.shapes for size in shape))) < 0:
        raise FileFormatError(
            f"the journals of {where} name {place.part!r} from value {place.start} on, which is no part of "
            f"{array.name}."
        )
    return sum(math.prod(shape) for shape in place.shapes)


def split_ragged(values: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Samples of these shapes that lie one after the other."""
    ends = numpy.cumsum([math.prod(shape) for shape in shapes])
    pieces = numpy.split(values, ends[:-1]) if shapes else []
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _is_rows(array: ArraySpec) -> bool:
    return array.layout == "rows" and not array.is_text


def _file_of(array: ArraySpec) -> str:
    return f"{array.file}.npy"


def _flat(array: ArraySpec) -> ArraySpec:
    return ArraySpec(name=array.name, file=array.file, dtype=array.dtype, shape=())


def _header(array: ArraySpec, num_rows: int) -> bytes:
    """As long for one number of rows as for any other: NumPy leaves room for it to grow."""
    content = io.BytesIO()
    described: dict[str, Any] = {
        "descr": numpy.lib.format.dtype_to_descr(array.numpy_dtype),
        "fortran_order": False,
        "shape": (num_rows, *array.shape),
    }
    numpy.lib.format.write_array_header_1_0(content, described)
    return content.getvalue()


def _write_all(descriptor: int, content: bytes | memoryview, place: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(descriptor, view[:_LARGEST_WRITE], place)
        view, place = view[written:], place + written
