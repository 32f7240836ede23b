"""The rings of one child: the current one, and older ones until all that came through them is on disk."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from torcheer.errors import InspectorError
from torcheer.inspector.child.losing import lost_frames
from torcheer.inspector.frames import FRAME, Layout
from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan


class _Note(NamedTuple):
    """So many frames were filled, the last of them at this step and time. All others come after that."""

    num_filled: int
    step: int
    time: float


class _Given:
    """A ring, and what was noted of it: slots hold only the last few frames."""

    def __init__(self, plan: Plan, ring: Ring) -> None:
        self.plan, self.ring = plan, ring
        self._notes = deque([_Note(0, -1, time.time())])

    def note(self) -> None:
        """How far it is filled. Notes that nobody can need any more are dropped."""
        num_filled = self.ring.num_filled
        if num_filled > self._notes[-1].num_filled:
            number, step, at, _ = FRAME.unpack_from(self.ring.slot(num_filled - 1))
            if number == num_filled - 1:
                self._notes.append(_Note(num_filled, step, at))
        while len(self._notes) > 1 and self._notes[1].num_filled <= self.ring.num_kept:
            self._notes.popleft()

    def lost(self) -> Lost | None:
        """What was given back and not kept, as far as the child could say.

        It counts from the last note before that, and so too much: what is in the run after all, whoever
        writes it there subtracts (see `resuming`), and that can be found by steps and times.
        """
        ring = self.ring
        if ring.num_kept == ring.num_given_back:
            return None
        before = self._notes[0]
        for note in self._notes:
            if note.num_filled <= ring.num_kept:
                before = note
        lost = lost_frames(ring, self.plan, range(before.num_filled, ring.num_given_back), "killed")
        ring.note_kept(ring.num_given_back)
        if lost is None:
            return None
        first_step = before.step + 1
        number, step, _, _ = FRAME.unpack_from(ring.slot(before.num_filled))
        if number == before.num_filled:  # it is still there
            first_step = max(first_step, step)
        last_step = max(first_step, lost.last_step, self._last_step_given_back())
        # From here on these are counted: what is lost next comes after them, and has another time than this.
        later = [note for note in self._notes if note.num_filled > ring.num_given_back]
        counted = _Note(ring.num_given_back, last_step, math.nextafter(before.time, math.inf))
        self._notes = deque([counted, *later])
        return msgspec.structs.replace(lost, first_step=first_step, last_step=last_step, time=before.time)

    def _last_step_given_back(self) -> int:
        """At most: the slot may be filled anew, but then there is one that waits, and comes after it."""
        for number, less in ((self.ring.num_given_back, 1), (self.ring.num_given_back - 1, 0)):
            found, step, _, _ = FRAME.unpack_from(self.ring.slot(number))
            if found == number:
                return int(step) - less
        return -1


class Rings:
    """In the order in which they were made."""

    def __init__(self) -> None:
        self._rings: list[_Given] = []

    def __iter__(self) -> Iterator[tuple[Plan, Ring]]:
        return ((given.plan, given.ring) for given in self._rings)

    @property
    def current(self) -> Ring | None:
        return self._rings[-1].ring if self._rings else None

    def add(self, plan: Plan) -> Ring:
        """Raises InspectorError where there is no room."""
        slot_bytes = Layout(plan).num_bytes
        try:
            ring = Ring.of_size(plan.num_slots, slot_bytes)
        except (OSError, MemoryError, ValueError, OverflowError) as error:
            raise InspectorError(
                f"there is no room for {plan.num_slots * slot_bytes / 1e6:,.0f} MB of shared memory "
                f"({error}): watch fewer layers, or keep smaller pieces of tensors. Where the system sets a "
                "limit (ulimit -f, ulimit -v, the memory of a container), raise it."
            ) from error
        if self.current is not None:
            ring.go_on_from(self.current)
        self._rings.append(_Given(plan, ring))
        return ring

    @property
    def has_something_left(self) -> bool:
        """Whether a child would have something to do: to read, or to say that it is lost."""
        return any(ring.num_waiting or ring.num_kept < ring.num_given_back for _, ring in self)

    def lost(self, *, also_waiting: bool = False, only: Collection[int] | None = None) -> list[Lost]:
        """What a child that is gone had read and not put on disk. Each frame is counted once.

        `also_waiting`: what nobody has read, too, for there is nobody any more. `only`: of these plans, by
        their numbers.
        """
        found = []
        for given in self._rings:
            if only is not None and given.plan.number not in only:
                continue
            if also_waiting:
                given.ring.give_back(given.ring.num_waiting)
            lost = given.lost()
            if lost is not None:
                found.append(lost)
        return found

    def attend(self) -> None:
        """Now and then: note how far they are filled, and drop those that are done with."""
        while len(self._rings) > 1 and self._rings[0].ring.num_kept >= self._rings[0].ring.num_filled:
            self._rings.pop(0).ring.close()
        for given in self._rings:
            given.note()

    def let_go(self) -> None:
        """Nothing is in memory any more but their counters."""
        for _, ring in self:
            ring.close()
