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
_LOST, _FIRST_LOST, _LAST_LOST, _LOST_HEARD, _TOLD, _HEARD = range(4, 10)
_NUM_COUNTERS: Final = 10


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

    @property
    def lost(self) -> tuple[int, int, int]:
        """How many frames of this child did not fit, in all its rings; the first and last step of late."""
        return self._counters[_LOST], self._counters[_FIRST_LOST], self._counters[_LAST_LOST]

    @property
    def num_lost_heard(self) -> int:
        """Of these, how many the child was told of."""
        return self._counters[_LOST_HEARD]

    @property
    def num_told(self) -> int:
        """Messages with numbers of the user's that there ever were."""
        return self._counters[_TOLD]

    @property
    def num_heard(self) -> int:
        """Of these, how many the child has heard, or was told that they are lost."""
        return self._counters[_HEARD]

    def slot(self, number: int) -> memoryview:
        """The slot of the `number`-th frame."""
        return self._slots[number % self.num_slots]

    # --- the side that fills ------------------------------------------------------------------------

    def publish(self) -> None:
        """The slot of number `num_filled` is complete."""
        self._counters[_FILLED] += 1

    def note_lost(self, total: int, first_step: int, last_step: int) -> None:
        """Where the training is killed before it can say so, the child finds it here."""
        counters = self._counters
        counters[_LOST], counters[_FIRST_LOST], counters[_LAST_LOST] = total, first_step, last_step

    def note_told(self, num_told: int) -> None:
        self._counters[_TOLD] = num_told

    def go_on_from(self, earlier: Ring) -> None:
        """It takes the place of another ring of the same child."""
        for place in range(_LOST, _NUM_COUNTERS):
            self._counters[place] = earlier._counters[place]

    # --- the side that empties ----------------------------------------------------------------------

    def give_back(self, count: int = 1) -> None:
        self._counters[_GIVEN_BACK] += count

    def note_kept(self, num_kept: int) -> None:
        self._counters[_KEPT] = num_kept

    def note_heard(self, num_lost_heard: int, num_heard: int) -> None:
        self._counters[_LOST_HEARD], self._counters[_HEARD] = num_lost_heard, num_heard

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
