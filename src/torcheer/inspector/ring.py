"""A ring of slots in shared memory: one process fills them, another empties them, and neither waits.

    head: counters | journal: a note on each of the last frames | slots

Counters only rise, and each is written by one side. A filled slot stays until it is given back, also when the
process that empties it is killed and another takes its place. Journal and counters say what was given: what
is not stored of that is lost (see `child/run_writer`).
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from contextlib import suppress
from typing import Final, Literal, NamedTuple

_PAGE_BYTES: Final = 4096
_FILLED, _GIVEN_BACK, _KEPT, _BUSY_NS = range(4)
_NUM, _START, _FIRST, _LAST, _TOLD = range(5)  # the places of a tally
_NUM_COUNTERS: Final = 19
_NUM_NOTES: Final = 4096
_NOTE: Final = struct.Struct("<qd")

Tally = Literal["full", "budget", "thinned"]
TALLIES: Final[dict[Tally, int]] = {"full": 4, "budget": 9, "thinned": 14}


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("torcheer", os.MFD_CLOEXEC)
    descriptor, path = tempfile.mkstemp(prefix="torcheer-")
    os.unlink(path)
    return descriptor


class Note(NamedTuple):
    """A frame in the journal. `seen` has a bit for each row that was seen, the first row highest."""

    step: int
    time: float
    seen: bytes


class Counted(NamedTuple):
    """Looks that came to nothing, as the training counts them."""

    num: int  # since the ring was made
    num_new: int  # of these, not yet in the run
    start: int  # the step of the first of all
    first: int  # the step of the first that was counted when the run had all others
    last: int


class Ring:
    """Slots of one size, in memory that both processes map.

    The memory has no name, so nobody can leak it: it goes with the last process that has the descriptor.
    """

    __slots__ = ("_counters", "_journal", "_map", "_note_bytes", "_slots", "descriptor", "num_slots")

    def __init__(self, descriptor: int, num_slots: int, slot_bytes: int, num_rows: int = 0) -> None:
        """The ring of the other process. Takes over the descriptor."""
        self.descriptor, self.num_slots = descriptor, num_slots
        self._note_bytes = _NOTE.size + -(-num_rows // 8)
        start = _head_bytes(num_rows)
        try:
            self._map = mmap.mmap(descriptor, start + num_slots * slot_bytes)
        except BaseException:
            os.close(descriptor)
            raise
        whole = memoryview(self._map)
        # Items of a view of "Q" are stored in one go, so the other side never sees half a number.
        self._counters: memoryview | list[int] = whole[:_PAGE_BYTES].cast("Q")
        self._journal = whole[_PAGE_BYTES:start]
        starts = (start + slot_bytes * number for number in range(num_slots))
        self._slots = [whole[place : place + slot_bytes] for place in starts]

    @classmethod
    def of_size(cls, num_slots: int, slot_bytes: int, num_rows: int = 0) -> Ring:
        """A new one. Raises OSError where memory is short."""
        descriptor, num_bytes = _nameless_file(), _head_bytes(num_rows) + num_slots * slot_bytes
        try:
            os.ftruncate(descriptor, num_bytes)
            if hasattr(os, "posix_fallocate"):
                # Where memory is short this raises now; later, a write into the map would kill the process.
                os.posix_fallocate(descriptor, 0, num_bytes)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, num_slots, slot_bytes, num_rows)

    @property
    def num_filled(self) -> int:
        """Slots that were ever filled."""
        return self._counters[_FILLED]

    @property
    def num_given_back(self) -> int:
        return self._counters[_GIVEN_BACK]

    @property
    def num_waiting(self) -> int:
        return self._counters[_FILLED] - self._counters[_GIVEN_BACK]

    @property
    def num_kept(self) -> int:
        """Of those given back, how many are known to be on disk, or counted there as lost."""
        return self._counters[_KEPT]

    @property
    def busy_seconds(self) -> float:
        """What the child has computed so far, as time of a processor."""
        return self._counters[_BUSY_NS] / 1e9

    def slot(self, number: int) -> memoryview:
        """The slot of the `number`-th frame."""
        return self._slots[number % self.num_slots]

    def noted(self, number: int) -> Note | None:
        """What the journal says of the `number`-th frame; None where that was too long ago."""
        if self.num_filled - number >= _NUM_NOTES:
            return None
        start = number % _NUM_NOTES * self._note_bytes
        step, time = _NOTE.unpack_from(self._journal, start)
        return Note(step, time, bytes(self._journal[start + _NOTE.size : start + self._note_bytes]))

    def counted(self, tally: Tally) -> Counted:
        counters, at = self._counters, TALLIES[tally]
        num = counters[at + _NUM]
        start, first, last = (counters[at + place] for place in (_START, _FIRST, _LAST))
        return Counted(num, num - counters[at + _TOLD], start, first, last)

    def note(self, number: int, step: int, time: float, seen: bytes) -> None:
        """Into the journal: the frame of this number, which is to be published."""
        start = number % _NUM_NOTES * self._note_bytes
        _NOTE.pack_into(self._journal, start, step, time)
        self._journal[start + _NOTE.size : start + self._note_bytes] = seen

    def publish(self) -> None:
        """The slot of number `num_filled` is complete."""
        self._counters[_FILLED] += 1

    def count(self, tally: Tally, step: int) -> None:
        """A look at this step came to nothing."""
        counters, at = self._counters, TALLIES[tally]
        if not counters[at + _NUM]:
            counters[at + _START] = step
        if counters[at + _NUM] == counters[at + _TOLD]:
            counters[at + _FIRST] = step
        counters[at + _LAST] = step
        counters[at + _NUM] += 1

    def give_back(self, count: int = 1) -> None:
        self._counters[_GIVEN_BACK] += count

    def note_kept(self, num_kept: int) -> None:
        self._counters[_KEPT] = max(num_kept, self._counters[_KEPT])

    def note_told(self, tally: Tally, num: int) -> None:
        """So many of those that were counted are in the run."""
        self._counters[TALLIES[tally] + _TOLD] = num

    def note_busy(self, seconds: float) -> None:
        self._counters[_BUSY_NS] = int(seconds * 1e9)

    def close(self) -> None:
        """Let go of the memory. What was counted can still be asked for; there are no slots any more."""
        if isinstance(self._counters, list):
            return
        views = [self._counters, self._journal, *self._slots]
        self._counters, self._slots = self._counters[:_NUM_COUNTERS].tolist(), []
        for view in views:
            with suppress(BufferError):  # somebody looks into this slot, and lets go when it is collected
                view.release()
        del views, view
        os.close(self.descriptor)
        with suppress(BufferError):  # the same of all of it
            self._map.close()
        del self._map


def _head_bytes(num_rows: int) -> int:
    """Of counters and journal, in whole pages."""
    journal = _NUM_NOTES * (_NOTE.size + -(-num_rows // 8))
    return _PAGE_BYTES + -(-journal // _PAGE_BYTES) * _PAGE_BYTES
