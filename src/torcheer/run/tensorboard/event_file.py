"""Records of an event file: a length, its checksum, the bytes, their checksum."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import google_crc32c

from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.protobuf import DamagedMessageError
from torcheer.tensorfile import open_file

_HEAD: Final = struct.Struct("<QI")
_TAIL: Final = struct.Struct("<I")
FRAME_BYTES: Final = _HEAD.size + _TAIL.size  # of a record, beside its own
_CHUNK_BYTES: Final = 1 << 22


class Frame(NamedTuple):
    """One record, and where its bytes begin in the file."""

    offset: int
    data: bytes


def masked_checksum(data: bytes) -> int:
    """The checksum as these files keep it: turned, so that the checksum of a checksum means something."""
    value = int(google_crc32c.value(data))
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(data: bytes) -> bytes:
    """A record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, _TAIL.pack(masked_checksum(length)), data, _TAIL.pack(masked_checksum(data))))


class FrameFile:
    """A file that may still grow: each look gives the records that are whole and new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.num_damaged = 0  # records whose checksum was wrong
        self.fault = ""  # why the rest of the file cannot be read
        self.position = 0  # up to where it was read
        self.size = 0  # of the file, when it was looked at last
        self.modified = 0.0  # then, too; in seconds since 1970
        self._wanted = 0  # the size from which on there is something to read

    def look(self) -> bool:
        """See how large it is now. False where it was written anew under the same name."""
        with suppress(OSError):
            status = os.stat(self.path)
            self.size, self.modified = status.st_size, status.st_mtime
        return self.size >= self.position

    def new_frames(self) -> Iterator[Frame]:
        """Records that are new since the last time. One that is cut off is waited for, and not read again."""
        if self.fault or self.size <= self.position or self.size < self._wanted:
            return
        with open_file(self.path) as file:
            self.size = os.fstat(file.fileno()).st_size
            end = end_of_data(file.fileno(), self.position, self.size)
            file.seek(self.position)
            yield from self._read(file, end)
            if end < self.size and not self.fault and self._wanted <= self.size:
                self.fault = f"damaged at byte {end:,}: a hole is there, and what comes after it is not read"

    def _read(self, file: BinaryIO, end: int) -> Iterator[Frame]:
        """Records up to that byte."""
        buffer, start = b"", self.position
        while not self.fault and start + len(buffer) < end:
            wanted = max(_CHUNK_BYTES, self._wanted - start - len(buffer))
            chunk = file.read(min(wanted, end - start - len(buffer)))
            if not chunk:
                return  # it became shorter
            buffer += chunk
            for frame, frame_end in self._whole(buffer, start):
                self.position = start + frame_end
                if frame is not None:
                    yield frame
            buffer, start = buffer[self.position - start :], self.position
            if self._wanted > end:
                return

    def _whole(self, buffer: bytes, start: int) -> Iterator[tuple[Frame | None, int]]:
        """Records and where they end; none for one that is damaged."""
        at = 0
        while at + _HEAD.size <= len(buffer):
            length, checksum = _HEAD.unpack_from(buffer, at)
            if masked_checksum(buffer[at : at + 8]) != checksum:
                self.fault = f"damaged at byte {start + at:,}: what comes after it is not read"
                return
            if length > MOST_RECORD_BYTES:
                self.fault = (
                    f"damaged at byte {start + at:,}, where a record of {length:,} bytes begins: "
                    "what comes after it is not read"
                )
                return
            begin, end = at + _HEAD.size, at + _HEAD.size + length + _TAIL.size
            if end > len(buffer):
                self._wanted = start + end
                return
            data = buffer[begin : begin + length]
            if masked_checksum(data) == _TAIL.unpack_from(buffer, begin + length)[0]:
                yield Frame(start + begin, data), end
            else:
                self.num_damaged += 1
                yield None, end
            at = end
        self._wanted = start + at + _HEAD.size


def read_again(path: Path, frame_offset: int, length: int) -> bytes | None:
    """The bytes of a record that was seen before; None where they are no longer there."""
    try:
        with open_file(path) as file:
            file.seek(frame_offset)
            data = file.read(length)
    except OSError:
        return None
    return data if len(data) == length else None


_START: Final = 1  # of a session: what was logged from this step on does not count any more


@dataclass(slots=True, kw_only=True)
class Event:
    """One event but for its values. A plain record: it is filled field by field."""

    time: float = 0.0
    step: int = 0
    restarts: bool = False
    has_graph: bool = False


class PlacedValue(NamedTuple):
    """One value of a summary, and where in the event it stands."""

    message: pb.Buffer
    offset: int


# An event with nothing but one simple value: most are, and reading them this way takes a third of the time.
_NUMBER: Final = rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_SIMPLE: Final = re.compile(
    rb"\x09(.{8})(?:\x10"
    + _NUMBER
    + rb")?\x2a"
    + _NUMBER
    + rb"\x0a"
    + _NUMBER
    + rb"\x0a"
    + _NUMBER
    + rb"(.*)\x15(.{4})",
    re.DOTALL,
)
_MOST_SIMPLE_BYTES: Final = 4096  # longer ones are something else
_DOUBLE: Final = struct.Struct("<d")
_SINGLE: Final = struct.Struct("<f")


def simple_point(data: bytes) -> tuple[float, int, bytes, float] | None:
    """Time, step, name and value of an event that is one simple value; None for any other."""
    match = _SIMPLE.fullmatch(data) if len(data) <= _MOST_SIMPLE_BYTES else None
    if match is None:
        return None
    time, step, outer, middle, length, name, value = match.groups()
    rest = len(length) + len(name) + 6
    if (
        pb.read_varint(length, 0)[0] != len(name)
        or pb.read_varint(middle, 0)[0] != rest
        or pb.read_varint(outer, 0)[0] != rest + len(middle) + 1
    ):
        return None
    number = 0 if step is None else step[0] if len(step) == 1 else pb.signed(pb.read_varint(step, 0)[0])
    return _DOUBLE.unpack(time)[0], number, name, _SINGLE.unpack(value)[0]


def simple_value(message: pb.Buffer) -> tuple[str, float] | None:
    """Name and value of a value that is a number with a short name and nothing else; None for any other."""
    length = len(message) - 7
    if 0 <= length < 0x80 and message[0] == 0x0A and message[1] == length and message[2 + length] == 0x15:
        return str(message[2 : 2 + length], "utf-8", "replace"), _SINGLE.unpack_from(message, 3 + length)[0]
    return None


def read_event(data: pb.Buffer) -> Event:
    event = Event()
    for number, _, value in pb.fields(memoryview(data)):
        if number == 1:
            event.time = pb.double(value)
        elif number == 2:
            event.step = pb.signed(value)
        elif number == 4:
            event.has_graph = True
        elif number == 5:
            pb.inner(value)
        elif number == 7:
            event.restarts = any(key == 1 and one == _START for key, _, one in pb.fields(pb.inner(value)))
    return event


def values_of_event(data: pb.Buffer) -> Iterator[PlacedValue]:
    """One after the other: there may be very many of them, each of a few bytes."""
    for number, _, summary, offset in pb.placed_fields(memoryview(data)):
        if number == 5:
            for value in values_of_summary(pb.inner(summary)):
                yield PlacedValue(value.message, offset + value.offset)


def values_of_summary(data: pb.Buffer) -> Iterator[PlacedValue]:
    for number, _, value, offset in pb.placed_fields(memoryview(data)):
        if number == 1:
            yield PlacedValue(pb.inner(value), offset)


# How much a folder of event files may take up: a small multiple of the bytes that are really there.
#
# A few bytes can declare a tensor of a gigabyte, a thousand pictures or a list in a list in a list.
# Whatever is made of a message is therefore paid for from an account, before it is made, in bytes of memory
# and in time: each byte that was read from the disk adds to both, and whatever would cost more than is left
# is skipped and counted. What an honest writer writes always pays for itself.

FREE_BYTES: Final = 32 << 20  # of memory, for any folder
BYTES_PER_BYTE: Final = 8  # of memory for each byte on the disk

# What things cost in memory, measured, with what other parts of the program keep of them.
SERIES_BYTES: Final = 2000
RECORD_BYTES: Final = 700
POINT_BYTES: Final = 64
ENTRY_BYTES: Final = 250  # a hyperparameter, a chart of a layout
ITEM_BYTES: Final = 64  # of a list
TEXT_BYTES: Final = 6  # for each byte of a text
FILL_BYTES: Final = 8  # for each byte of a tensor that is not in the file, since it takes time, too

_SHARE: Final = 4  # one record gets a quarter of what is free

# About microseconds.
FREE_WORK: Final = 300_000
WORK_PER_BYTE: Final = 0.8
POINT_WORK: Final = 4
SERIES_WORK: Final = 20
RECORD_SERIES_WORK: Final = 250  # whoever reads all records asks for each series on its own
RECORD_WORK: Final = 32  # an event that holds one record takes at least forty bytes
ELEMENT_WORK: Final = 4  # of a tensor, where each stands in a field of its own
TEXT_WORK: Final = 3
# Where a session begins anew: so many series and records are looked at, or points copied, in a microsecond.
LOOKED_AT: Final = 10
POINTS_COPIED: Final = 50
COPY_WORK: Final = 5

MOST_FILES: Final = 10_000  # of a folder
MOST_DIMS: Final = 64  # of a tensor: NumPy's own limit, and torch's
MOST_RECORD_BYTES: Final = 1 << 30  # of one record of a file
MOST_TABLE_BYTES: Final = 1 << 28  # of one file of an embedding
MOST_CONFIG_BYTES: Final = 1 << 20
MOST_SIZE: Final = 1 << 31  # of a picture, in pixels; of a sound, in frames


class TooLargeError(DamagedMessageError):
    """What a message declares is out of all proportion to its bytes."""


class Room:
    """The account of a folder, or of one value.

    A record of a file has what its own bytes bring in, and of all that was left over before a quarter at
    most: one that takes all it can get leaves enough for honest ones after it.
    """

    def __init__(self, num_bytes: float = FREE_BYTES, work: float = FREE_WORK) -> None:
        self._left, self._left_work = num_bytes, work
        self._kept, self._kept_work = 0.0, 0.0  # for later records

    def begin_record(self, num_bytes: int) -> None:
        """So many bytes were read."""
        self._kept = self._left - min(self._left / _SHARE, FREE_BYTES)
        self._kept_work = self._left_work - min(self._left_work / _SHARE, FREE_WORK)
        self._left += BYTES_PER_BYTE * num_bytes
        self._left_work += WORK_PER_BYTE * num_bytes

    def can_take(self, num_bytes: int, work: int = 0) -> bool:
        """Pay for something that is about to be made, if there is enough for it."""
        if self._left - num_bytes < self._kept or self._left_work - work < self._kept_work:
            return False
        self._left -= num_bytes
        self._left_work -= work
        return True

    def take(self, num_bytes: int, work: int = 0) -> None:
        """The same. Raises TooLargeError where there is not enough."""
        if not self.can_take(num_bytes, work):
            raise TooLargeError("it declares far more than its bytes can hold")


def room_for_one(num_bytes: int, num_made: int = 0) -> Room:
    """For a value that is read alone. Where it was found before, so much was made of it and paid for."""
    return Room(FREE_BYTES + BYTES_PER_BYTE * num_bytes + FILL_BYTES * num_made, float("inf"))


def end_of_data(file: int, start: int, size: int) -> int:
    """Where the first hole of a file is, from `start` on: behind it there is nothing on the disk."""
    if start >= size or not hasattr(os, "SEEK_HOLE"):
        return size
    try:
        end = os.lseek(file, start, os.SEEK_HOLE)
    except OSError:  # not every file system knows
        return size
    finally:
        os.lseek(file, start, os.SEEK_SET)
    return min(end, size)


def read_small_file(path: Path, most_bytes: int) -> bytes:
    """A file in whole. OSError where it is larger, or has holes: those take no room on the disk."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise OSError(f"{path.name} has {size:,} bytes")
        if end_of_data(file.fileno(), 0, size) < size:
            raise OSError(f"{path.name} has a hole")
        return file.read(size)
