"""Records of an event file: a length, its checksum, the bytes, their checksum."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import google_crc32c

_HEAD: Final = struct.Struct("<QI")
_TAIL: Final = struct.Struct("<I")
_CHUNK_BYTES: Final = 1 << 22
_MAX_RECORD_BYTES: Final = 1 << 31  # of a protocol buffer


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

    def new_frames(self) -> Iterator[Frame]:
        """Records that were not seen yet. A record that is cut off is waited for."""
        with open(self.path, "rb") as file:
            file.seek(self.position)
            buffer, start = b"", self.position
            while not self.fault and (chunk := file.read(max(_CHUNK_BYTES, _missing(buffer)))):
                buffer += chunk
                for frame, end in self._whole(buffer, start):
                    self.position = start + end
                    if frame is not None:
                        yield frame
                buffer, start = buffer[self.position - start :], self.position

    def _whole(self, buffer: bytes, start: int) -> Iterator[tuple[Frame | None, int]]:
        """Records and where they end; none for one that is damaged."""
        at = 0
        while at + _HEAD.size <= len(buffer):
            length, checksum = _HEAD.unpack_from(buffer, at)
            if masked_checksum(buffer[at : at + 8]) != checksum:
                self.fault = f"damaged at byte {start + at:,}: what comes after it is not read"
                return
            begin, end = at + _HEAD.size, at + _HEAD.size + length + _TAIL.size
            if end > len(buffer):
                return
            data = buffer[begin : begin + length]
            if masked_checksum(data) == _TAIL.unpack_from(buffer, begin + length)[0]:
                yield Frame(start + begin, data), end
            else:
                self.num_damaged += 1
                yield None, end
            at = end


def _missing(buffer: bytes) -> int:
    """How many bytes the record at the end of the buffer still wants, as far as it says so."""
    if len(buffer) < _HEAD.size:
        return 0
    length = int(_HEAD.unpack_from(buffer)[0])
    # The file itself is the limit: no more is read than it has.
    return min(length, _MAX_RECORD_BYTES) + _HEAD.size + _TAIL.size - len(buffer)


def read_again(path: Path, frame_offset: int, length: int) -> bytes | None:
    """The bytes of a record that was seen before; None where they are no longer there."""
    try:
        with open(path, "rb") as file:
            file.seek(frame_offset)
            data = file.read(length)
    except OSError:
        return None
    return data if len(data) == length else None
