"""Read chosen files out of a tar archive that is not trusted: nothing is unpacked to the disk."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from torcheer.errors import FileFormatError

MAX_FILE_BYTES: Final = 256 << 20  # the largest file of CIFAR has 155 MB
_MAX_UNPACKED_BYTES: Final = 512 << 20  # the largest archive of CIFAR has 186 MB
_CHUNK_BYTES: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b"
_PLAIN: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)  # no links, no devices, no files with holes


def read_members(path: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """The wanted files of an archive, by name, in the order in which they stand there; the first of a name.

    An archive cannot reach outside of itself here: names are only compared. What unpacks to more than such an
    archive holds is refused before it fills the memory.
    """
    left = set(wanted)
    try:
        with path.open("rb") as file:
            stream = _unpacked(file, path)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    name = member.name.removeprefix("./")
                    if name in left and member.type in _PLAIN:
                        left.remove(name)
                        yield name, _content(archive, member, path)
            while stream.read(_CHUNK_BYTES):  # the checksum stands at the end
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileFormatError(
            f"{path} is no tar archive, or is cut short or damaged: {error}. Get it again."
        ) from error


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bytes:
    if member.size > MAX_FILE_BYTES:
        raise FileFormatError(
            f"{member.name} in {path} claims {member.size:,} bytes: it is not what it says."
        )
    file = archive.extractfile(member)
    content = file.read() if file else b""
    if len(content) != member.size:
        raise FileFormatError(f"{member.name} in {path} is cut short. Get the archive again.")
    return content


class _Bounded:
    """A stream that ends in an error where it gives more than it should."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.stream = stream
        self.path = path
        self.num_left = _MAX_UNPACKED_BYTES

    def read(self, num_bytes: int) -> bytes:
        content = self.stream.read(num_bytes)
        self.num_left -= len(content)
        if self.num_left < 0:
            raise FileFormatError(
                f"{self.path} unpacks to more than {_MAX_UNPACKED_BYTES >> 20} MB: it is not what it says."
            )
        return content


def _unpacked(file: IO[bytes], path: Path) -> IO[bytes]:
    """By what is in the file, not by its name: some browsers unpack the gzip and leave the name."""
    head = file.read(len(_GZIP))
    file.seek(0)
    stream = gzip.GzipFile(fileobj=file) if head == _GZIP else file
    return _Bounded(stream, path)  # type: ignore[return-value,arg-type]
