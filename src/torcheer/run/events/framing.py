"""Records of an event file: a length, its checksum, the bytes, their checksum."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import google_crc32c

from torcheer.run.events.limits import MOST_RECORD_BYTES, end_of_data
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
