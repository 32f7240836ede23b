"""Files of tensors as safetensors writes them: a header that is checked first, tensors with checksums.

The file is read with `pread` and not mapped into memory: if it is cut short while it is open there is an
error to raise, where a mapping would end the process.
"""

from __future__ import annotations

import json
import math
import os
import threading
import weakref
import zlib
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy
from msgspec import Meta

from torcheer.errors import FileFormatError
from torcheer.tensorfile.files import NoOrdinaryFileError, open_file
from torcheer.tensorfile.tensor_figures import Array

CHECKSUMS = "torcheer.checksums"
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors library
MAX_DIMS = 64  # torch's own
LENGTH_BYTES = 8  # the file begins with the length of its header

# By what safetensors calls them.
ITEM_BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 2),
    **dict.fromkeys(("I32", "U32", "F32"), 4),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 8),
}

Size = Annotated[int, Meta(ge=0, le=2**62)]


class NotSafetensors(ValueError):  # noqa: N818  # says what it is, and is turned into an error with a file's name
    """These bytes are no safetensors file at all."""


class HeaderEntry(msgspec.Struct, frozen=True, gc=False):
    """A tensor as the header names it. The defaults are for the metadata, which stand among the tensors."""

    dtype: str = ""
    shape: list[Size] = []
    data_offsets: tuple[Size, Size] = (0, 0)


class _Head(msgspec.Struct, frozen=True):
    """What the header says besides."""

    metadata: dict[str, str] = msgspec.field(name="__metadata__", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is in a file, once it is known that it can be."""

    metadata: dict[str, str]
    places: dict[str, tuple[int, int]]  # by name: the first byte in the file, and how many there are
    types: dict[str, tuple[str, tuple[int, ...]]]  # by name: type and shape


def read_header(header: bytes, num_bytes: int) -> Header:
    """ValueError where it says what cannot be."""
    try:
        metadata = msgspec.json.decode(header, type=_Head).metadata
        entries = msgspec.json.decode(header, type=dict[str, HeaderEntry])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotSafetensors from None
    entries.pop("__metadata__", None)
    # Without escapes, a name that stands twice shows in the count: quicker, for a pass of many tensors.
    if b"\\" in header or header.count(b'"data_offsets"') != len(entries):
        try:
            json.loads(header, object_pairs_hook=unique)
        except NamedTwice as error:
            raise ValueError(f"its header names {str(error)[:80]!r} twice") from None
        except (ValueError, RecursionError):
            raise NotSafetensors from None
    places = _places(LENGTH_BYTES + len(header), entries, num_bytes)
    types = {name: (entry.dtype, tuple(entry.shape)) for name, entry in entries.items()}
    return Header(metadata=metadata, places=places, types=types)


class NamedTwice(Exception):  # noqa: N818  # no ValueError: the JSON would be taken for broken
    """A name stands twice in one object: two readers could read it in two ways."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What json.loads makes of an object, as object_pairs_hook, where no name stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise NamedTwice(next(name for name in found if names.count(name) > 1))
    return found


def _places(base: int, entries: dict[str, HeaderEntry], num_bytes: int) -> dict[str, tuple[int, int]]:
    """Where each tensor lies, once they fill the file without a gap or an overlap."""
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        start, end = entry.data_offsets
        size = ITEM_BYTES.get(entry.dtype, -1) * math.prod(entry.shape[:MAX_DIMS])
        if len(entry.shape) > MAX_DIMS or start != at or end - start != size:
            raise ValueError(f"its header says of {name[:80]!r} what cannot be")
        places[name] = (base + start, size)
        at = end
    if base + at != num_bytes:
        raise ValueError(f"it has {num_bytes:,} bytes and should have {base + at:,}")
    return places


CHUNK_BYTES = 1 << 20  # still in the processor's cache when it is summed up


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What a file of tensors is, in the words of errors."""

    name: str
    ordinary: str  # what to do where it is no file at all,
    other: str  # where it is no safetensors file,
    damaged: str  # and where it is damaged
    has_header_sum: bool = False  # the last checksum is that of the header


PASS = FileKind(
    name="a saved pass",
    ordinary="Name the file that history.save wrote.",
    other="Name a file that history.save wrote; no other can be opened.",
    damaged="It may be damaged or half copied: copy it again, or save the history anew.",
)


class TensorBytes:
    """An open file. Closed when nobody needs it any more."""

    def __init__(self, path: str, kind: FileKind = PASS) -> None:
        self.path = path
        self._kind = kind
        try:
            file = open_file(path)  # stays open: values are read when asked for
        except NoOrdinaryFileError:
            raise self.broken("it is no ordinary file", kind.ordinary) from None
        weakref.finalize(self, file.close)
        self._file = file
        self._lock = threading.Lock()
        self._num_bytes = os.fstat(file.fileno()).st_size
        self._header = self._read_header()
        self.metadata = self._header.metadata
        self.types = self._header.types
        self._sums: dict[str, int] | None = None
        self._last: tuple[str, Array] | None = None  # what was read last

    def broken(self, what: str, do: str = "") -> FileFormatError:
        do = do or self._kind.damaged
        return FileFormatError(f"{self.path} cannot be opened as {self._kind.name}: {what}. {do}")

    def __contains__(self, name: object) -> bool:
        return name in self._header.places

    def num_bytes(self, name: str) -> int:
        return self._header.places[name][1]

    @property
    def names(self) -> list[str]:
        """All tensors but the checksums."""
        return [name for name in self._header.places if name != CHECKSUMS]

    def read(self, name: str) -> Array:
        """The bytes of one tensor. The last one is at hand: a page asks for window after window of it."""
        last = self._last
        if last is None or last[0] != name:
            last = self._last = name, self.read_once(name)
        return last[1]

    def read_once(self, name: str) -> Array:
        flat = numpy.empty(self.num_bytes(name), dtype=numpy.uint8)
        self.read_into(name, flat)
        flat.flags.writeable = False
        return flat

    def read_into(self, name: str, flat: Array) -> None:
        """Fill memory of the right size with the bytes of one tensor."""
        start, size = self._header.places[name]
        total = 0
        for at in range(0, size, CHUNK_BYTES):
            chunk = flat[at : at + CHUNK_BYTES]
            self._fill(chunk, start + at)
            total += checksum(chunk)
        if total % 2**64 != self._checksums().get(name):
            raise self.broken(f"the bytes of {name[:80]!r} are not those that were written")

    def check_sums(self) -> None:
        """Raise where the checksums are missing, or that of the header is not right."""
        self._checksums()

    def _read_header(self) -> Header:
        try:
            most = min(self._num_bytes - LENGTH_BYTES, MAX_HEADER_BYTES)
            length = int.from_bytes(self._read_bytes(0, LENGTH_BYTES), "little") if most > 0 else 0
            if not 2 <= length <= most:
                raise NotSafetensors
            header = self._read_bytes(LENGTH_BYTES, length)
            self._header_sum = zlib.crc32(header) if self._kind.has_header_sum else None
            return read_header(header, self._num_bytes)
        except NotSafetensors:
            raise self.broken("it is no safetensors file", self._kind.other) from None
        except FileFormatError:
            raise
        except ValueError as error:
            raise self.broken(str(error)) from None

    def _checksums(self) -> dict[str, int]:
        if self._sums is None:
            names = sorted(self.names)
            num_sums = len(names) + self._kind.has_header_sum
            if CHECKSUMS not in self or self.num_bytes(CHECKSUMS) != 8 * num_sums:
                raise self.broken("its checksums are missing")
            sums = numpy.frombuffer(self._read_bytes(*self._header.places[CHECKSUMS]), dtype="<u8").tolist()
            if self._kind.has_header_sum and sums.pop() != self._header_sum:
                raise self.broken("its header is not the one that was written")
            self._sums = dict(zip(names, sums, strict=True))
        return self._sums

    def _read_bytes(self, start: int, size: int) -> bytes:
        flat = numpy.empty(size, dtype=numpy.uint8)
        self._fill(flat, start)
        return flat.tobytes()

    def _fill(self, flat: Array, start: int) -> None:
        view, done = flat.data, 0
        while done < len(view):
            count = self._read_some(view[done:], start + done)
            if not count:
                raise self.broken("it ends too early: it was changed after it was opened")
            done += count

    def _read_some(self, view: memoryview, start: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [view], start)
        with self._lock:  # Windows
            self._file.seek(start)
            return self._file.readinto(view) or 0


def checksum(flat: Array) -> int:
    """The sum of all bytes taken as 64-bit words, the last one filled up with zeros."""
    num_whole = len(flat) // 8 * 8
    total = int(numpy.add.reduce(flat[:num_whole].view(numpy.uint64)))
    return (total + int.from_bytes(flat[num_whole:].tobytes(), "little")) % 2**64
