"""A ring of slots in shared memory: one process fills them, another empties them, and neither waits.

Two counters that only rise say how many slots were filled and given back in all. Each is written by one side
alone. A slot that is filled stays until it is given back, also when the process that empties it is killed and
another takes its place.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from torcheer.inspector.memory import SharedMemory

_HEAD_BYTES: Final = 4096
_FILLED, _GIVEN_BACK, _KEPT, _BUSY_NS = range(4)
_NUM_COUNTERS: Final = 4


class Ring:
    """Slots of one size, in memory that both processes map."""

    __slots__ = ("_counters", "_slots", "memory", "num_slots", "slot_bytes")

    def __init__(self, memory: SharedMemory, num_slots: int, slot_bytes: int) -> None:
        self.memory, self.num_slots, self.slot_bytes = memory, num_slots, slot_bytes
        whole = memoryview(memory.map)
        # Items of a view of "Q" are stored in one go, so the other side never sees half a number.
        self._counters: memoryview | list[int] = whole[:_HEAD_BYTES].cast("Q")
        self._slots = [
            whole[_HEAD_BYTES + slot_bytes * number : _HEAD_BYTES + slot_bytes * (number + 1)]
            for number in range(num_slots)
        ]

    @classmethod
    def of_size(cls, num_slots: int, slot_bytes: int) -> Ring:
        return cls(SharedMemory.of_size(_HEAD_BYTES + num_slots * slot_bytes), num_slots, slot_bytes)

    @classmethod
    def of_descriptor(cls, descriptor: int, num_slots: int, slot_bytes: int) -> Ring:
        """The ring of the other process. Takes over the descriptor."""
        return cls(SharedMemory(descriptor, _HEAD_BYTES + num_slots * slot_bytes), num_slots, slot_bytes)

    # --- both sides ---------------------------------------------------------------------------------

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
        """Of those given back, how many were on disk when the child last looked."""
        return self._counters[_KEPT]

    @property
    def busy_seconds(self) -> float:
        """What the child has computed so far, as time of a processor."""
        return self._counters[_BUSY_NS] / 1e9

    def slot(self, number: int) -> memoryview:
        """The slot of the `number`-th frame."""
        return self._slots[number % self.num_slots]

    # --- the side that fills ------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        return self._counters[_FILLED] - self._counters[_GIVEN_BACK] < self.num_slots

    def publish(self) -> None:
        """The slot of number `num_filled` is complete."""
        self._counters[_FILLED] += 1

    # --- the side that empties ----------------------------------------------------------------------

    def give_back(self, count: int = 1) -> None:
        self._counters[_GIVEN_BACK] += count

    def note_kept(self, num_kept: int) -> None:
        self._counters[_KEPT] = num_kept

    def note_busy(self, seconds: float) -> None:
        self._counters[_BUSY_NS] = int(seconds * 1e9)

    def close(self) -> None:
        """Let go of the memory. What was counted can still be asked for; there are no slots any more."""
        if isinstance(self._counters, list):
            return
        views = [self._counters, *self._slots]
        self._counters, self._slots = self._counters[:_NUM_COUNTERS].tolist(), []
        for view in views:
            with suppress(BufferError):  # somebody looks into this slot, and lets go when it is collected
                view.release()
        del views, view
        self.memory.close()
