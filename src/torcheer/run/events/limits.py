"""How much a folder of event files may take up: a small multiple of the bytes that are really there.

A few bytes can declare a tensor of a gigabyte, a thousand pictures or a list in a list in a list. Whatever is
made of a message is therefore paid for from an account, before it is made, in bytes of memory and in time:
each byte that was read from the disk adds to both, and whatever would cost more than is left is skipped and
counted. What an honest writer writes always pays for itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from torcheer.run.events.protobuf import DamagedMessageError
from torcheer.tensorfile import open_file

FREE_BYTES: Final = 32 << 20  # of memory, for any folder
BYTES_PER_BYTE: Final = 8  # of memory for each byte on the disk

# What things cost in memory, measured, with what other parts of the program keep of them.
SERIES_BYTES: Final = 2000
RECORD_BYTES: Final = 600
POINT_BYTES: Final = 64
RESTART_BYTES: Final = 64
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

MOST_FILES: Final = 10_000  # of a folder
MOST_DIMS: Final = 64  # of a tensor: NumPy's own limit, and torch's
MOST_NESTING: Final = 16  # of lists in a hyperparameter
MOST_RECORD_BYTES: Final = 1 << 30  # of one record of a file
MOST_TABLE_BYTES: Final = 1 << 28  # of one file of an embedding
MOST_CONFIG_BYTES: Final = 1 << 20
MOST_SIZE: Final = 1 << 31  # of a picture, in pixels; of a sound, in frames


class TooLargeError(DamagedMessageError):
    """What a message declares is out of all proportion to its bytes."""


class Room:
    """The account of a folder.

    A record of a file has what its own bytes bring in, and from all that was left over before no more than a
    part: one that takes all it can get leaves enough for honest ones after it.
    """

    def __init__(self) -> None:
        self._saved: float = FREE_BYTES
        self._saved_work: float = FREE_WORK
        self._left: float = 0  # for the record that is read now
        self._left_work: float = 0
        self._most = self._spent = 0  # for the value of it that is read now

    def begin_record(self, num_bytes: int) -> None:
        """So many bytes were read."""
        self._saved += self._left
        self._saved_work += self._left_work
        own = BYTES_PER_BYTE * num_bytes, WORK_PER_BYTE * num_bytes
        more = min(self._saved / _SHARE, FREE_BYTES), min(self._saved_work / _SHARE, FREE_WORK)
        self._left, self._left_work = own[0] + more[0], own[1] + more[1]
        self._saved -= more[0]
        self._saved_work -= more[1]

    def begin_value(self, num_bytes: int) -> None:
        """A value of the record comes. It gets no more than it would get alone, and is read alone later."""
        self._spent = 0
        self._most = FREE_BYTES + BYTES_PER_BYTE * num_bytes

    def can_take(self, num_bytes: int, work: int = 0) -> bool:
        """Pay for something that is about to be made, if there is enough for it."""
        if num_bytes > self._left or work > self._left_work or self._spent + num_bytes > self._most:
            return False
        self._left -= num_bytes
        self._left_work -= work
        self._spent += num_bytes
        return True

    def take(self, num_bytes: int, work: int = 0) -> None:
        """The same. Raises TooLargeError where there is not enough."""
        if not self.can_take(num_bytes, work):
            raise TooLargeError("it declares far more than its bytes can hold")

    def undo(self) -> None:
        """Nothing was made of the value after all. The time that it took does not come back."""
        self._left += self._spent
        self._spent = 0


class RoomForOne(Room):
    """For a value that is read alone: it is not kept."""

    def __init__(self, num_bytes: int) -> None:
        super().__init__()
        self._left = FREE_BYTES + BYTES_PER_BYTE * num_bytes
        self._left_work = float("inf")  # it was paid for when it was found
        self.begin_value(num_bytes)


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
