"""Where the objects of a Zarr store are: a folder, or whatever fsspec or obstore can reach by a URL."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import urlsplit

from torcheer.errors import FileFormatError, InputError
from torcheer.features.stores.folder import FolderStore
from torcheer.tensorfile import NoOrdinaryFileError, open_file

Content = bytes | memoryview
_NUM_SYNCS: Final = 8  # at once
_BUCKETS: Final = frozenset("s3 s3a gs gcs az abfs abfss oss".split())


class Place(Protocol):
    """Objects by their keys: `features.6/c.3.0.0.0`."""

    is_local: bool

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        """The bytes from `start` to `end`, fewer where it ends before; None where there is no such object."""

    def get_into(self, key: str, start: int, into: memoryview) -> int | None:
        """As many bytes as fit; how many there were, or None where there is no such object."""

    def put(self, key: str, content: bytes) -> None:
        """Whole or not at all, and there to stay."""

    def put_new(self, key: str, content: bytes) -> bool:
        """The same, unless there is such an object already; whether it was put."""

    def put_chunk(self, key: str, content: Content) -> None:
        """There to stay only after `sync`; until then a kill may leave a part of it."""

    def sync(self, keys: Sequence[str]) -> None: ...

    def names(self, folder: str) -> list[str]:
        """Of the objects right in it, sorted."""

    def free_bytes(self) -> int | None: ...
    def used_bytes(self) -> int: ...


def place_at(url: str) -> Place:
    """fsspec first, for it has more places; obstore where the package that fsspec needs is missing."""
    if url.endswith(":"):
        raise InputError(f"{url}// names no place: give a whole URL, such as s3://bucket/vgg.")
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme in ("", "file", "local"):
        return LocalPlace(url.split("://", 1)[-1])  # as it stands: fsspec does not decode it, either
    reasons = []
    for kind in (FsspecPlace, ObstorePlace):
        try:
            return kind.at(url)
        except (ImportError, ValueError) as error:
            reasons.append(f"{kind.library} says: {str(error).splitlines()[0]}")
    raise InputError(
        f"nothing here can reach {url} ({'; '.join(reasons)}): pip install 'torcheer[zarr]' and the package "
        "that fsspec asks for, or pip install obstore."
    )


class LocalPlace:
    """A folder on a disk that all processes see."""

    is_local = True

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder} is a file: features need a folder of their own.")
        self._files = FolderStore(folder)

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        with self._opened(key) as file:
            if file is None:
                return None
            file.seek(start)
            return file.read(-1 if end is None else max(0, end - start))

    def get_into(self, key: str, start: int, into: memoryview) -> int | None:
        with self._opened(key) as file:
            if file is None:
                return None
            file.seek(start)
            return file.readinto(into)

    @contextmanager
    def _opened(self, key: str) -> Iterator[BufferedReader | None]:
        try:
            file = open_file(self.folder / key)
        except (FileNotFoundError, NotADirectoryError):
            yield None
            return
        except IsADirectoryError as error:
            raise FileFormatError(f"{self.folder / key} is a folder where a file should be.") from error
        except NoOrdinaryFileError as error:
            raise FileFormatError(f"{self.folder / key} is no ordinary file.") from error
        with file:
            yield file

    def put(self, key: str, content: bytes) -> None:
        self._files.write(key, content)

    def put_new(self, key: str, content: bytes) -> bool:
        return self._files.write_new(key, content) is content

    def put_chunk(self, key: str, content: Content) -> None:
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not emptied before: who reads a batch while it is written again finds the same bytes all the time.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            if os.fstat(descriptor).st_size > len(content):
                os.ftruncate(descriptor, len(content))
        finally:
            os.close(descriptor)

    def sync(self, keys: Sequence[str]) -> None:
        paths = [self.folder / key for key in keys]
        # A disk takes many of them together in the time of one.
        with ThreadPoolExecutor(_NUM_SYNCS) as pool:
            for _ in pool.map(_sync, paths):
                pass
        folders = {parent for path in paths for parent in path.parents if parent.is_relative_to(self.folder)}
        for folder in sorted(folders, reverse=True):
            _sync(folder)

    def names(self, folder: str) -> list[str]:
        try:
            found = os.listdir(self.folder / folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if not name.startswith("."))

    def free_bytes(self) -> int | None:
        return self._files.free_bytes()

    def used_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("c.*") if path.is_file())


class _DistantPlace:
    """What is put there is there to stay."""

    is_local = False

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        raise NotImplementedError

    def put(self, key: str, content: bytes) -> None:
        raise NotImplementedError

    def get_into(self, key: str, start: int, into: memoryview) -> int | None:
        content = self.get(key, start, start + len(into))
        if content is None:
            return None
        into[: len(content)] = content
        return len(content)

    def put_chunk(self, key: str, content: Content) -> None:
        self.put(key, bytes(content))

    def sync(self, keys: Sequence[str]) -> None:
        pass

    def free_bytes(self) -> int | None:
        return None


class FsspecPlace(_DistantPlace):
    """A URL that fsspec knows. Credentials come from the environment, or from fsspec's own configuration."""

    library = "fsspec"

    def __init__(self, filesystem: Any, root: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")

    @classmethod
    def at(cls, url: str) -> FsspecPlace:
        from fsspec.core import url_to_fs

        filesystem, root = url_to_fs(url)
        return cls(filesystem, root)

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        path = f"{self._root}/{key}"
        try:
            if start == 0 and end is None:
                return bytes(self._filesystem.cat_file(path))
            try:
                return bytes(self._filesystem.cat_file(path, start=start, end=end))
            except FileNotFoundError:
                raise
            except OSError:  # an object that ends before `start` is an error in some places
                return bytes(self._filesystem.cat_file(path))[start:end]
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, key: str, content: bytes) -> None:
        path = f"{self._root}/{key}"
        try:
            self._filesystem.pipe_file(path, content)
        except FileNotFoundError:
            if self._has_buckets:
                raise
            self._filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            self._filesystem.pipe_file(path, content)

    def put_new(self, key: str, content: bytes) -> bool:
        try:
            self._filesystem.pipe_file(f"{self._root}/{key}", content, mode="create")
        except FileExistsError:
            return False
        except (TypeError, NotImplementedError, FileNotFoundError):  # it cannot, or there is no folder yet
            if self.get(key) is not None:
                return False
            self.put(key, content)
        return True

    @property
    def _has_buckets(self) -> bool:
        """Where there are no folders: to make one would be to make a bucket, which nobody has asked for."""
        protocol = self._filesystem.protocol
        return not _BUCKETS.isdisjoint((protocol,) if isinstance(protocol, str) else protocol)

    def names(self, folder: str) -> list[str]:
        self._filesystem.invalidate_cache()  # others write, too
        try:
            found = self._filesystem.ls(f"{self._root}/{folder}", detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in found)

    def used_bytes(self) -> int:
        self._filesystem.invalidate_cache()
        found = self._filesystem.find(self._root, detail=True)
        return sum(int(about.get("size") or 0) for path, about in found.items() if _is_chunk(path))


class ObstorePlace(_DistantPlace):
    """A URL that obstore knows: S3, Google, Azure. Credentials come from the environment."""

    library = "obstore"
    _process: ClassVar[int | None] = None  # that used it first

    def __init__(self, store: Any) -> None:
        self._store = store

    @classmethod
    def at(cls, url: str) -> ObstorePlace:
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        # Its threads do not come along when a process is forked: whoever asks it there waits for ever.
        if cls._process not in (None, os.getpid()):
            raise ValueError("after a fork it does not work; start the process with 'spawn', or use fsspec")
        ObstorePlace._process = os.getpid()
        try:
            return cls(from_url(url))
        except BaseError as error:
            raise ValueError(str(error)) from error

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        import obstore
        from obstore.exceptions import BaseError, NotFoundError

        try:
            if start == 0 and end is None:
                return obstore.get(self._store, key).bytes().to_bytes()
            try:
                return self._range(key, start, end)
            except (NotFoundError, FileNotFoundError):
                raise
            except BaseError:  # an object that ends before `start` is an error here
                return obstore.get(self._store, key).bytes().to_bytes()[start:end]
        except (NotFoundError, FileNotFoundError):
            return None

    def _range(self, key: str, start: int, end: int | None) -> bytes:
        import obstore

        if end is not None:
            return bytes(obstore.get_range(self._store, key, start=start, end=end))
        return bytes(obstore.get(self._store, key, options={"range": {"offset": start}}).bytes())

    def put(self, key: str, content: bytes) -> None:
        import obstore

        obstore.put(self._store, key, content)

    def put_new(self, key: str, content: bytes) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError

        try:
            obstore.put(self._store, key, content, mode="create")
        except (AlreadyExistsError, FileExistsError):
            return False
        except (NotSupportedError, NotImplementedError):
            if self.get(key) is not None:
                return False
            self.put(key, content)
        return True

    def names(self, folder: str) -> list[str]:
        import obstore

        found = obstore.list_with_delimiter(self._store, folder)["objects"]
        return sorted(one["path"].rsplit("/", 1)[-1] for one in found)

    def used_bytes(self) -> int:
        import obstore

        found = (one for page in obstore.list(self._store) for one in page)
        return sum(one["size"] for one in found if _is_chunk(one["path"]))


def _is_chunk(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith("c.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # some network disks cannot sync a folder
            raise
    finally:
        os.close(descriptor)
