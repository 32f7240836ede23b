"""One ring as the child sees it: frames come out in order, and their slots are given back once."""

from __future__ import annotations

import time

from torcheer.inspector.child.missing import lost_frames
from torcheer.inspector.frames import Frame, Layout, read_frame
from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan
from torcheer.inspector.statistics import Figures


class Source:
    """A plan, its ring, and what computes its figures."""

    def __init__(self, plan: Plan, descriptor: int) -> None:
        """Takes over the descriptor."""
        self.plan = plan
        self._layout = Layout(plan)
        self.ring = Ring.of_descriptor(descriptor, plan.num_slots, self._layout.num_bytes, len(plan.rows))
        self.figures = Figures(plan)
        # Where a child before this one computed already, its time stays counted.
        self._busy_before = self.ring.busy_seconds - time.process_time()

    @property
    def num_waiting(self) -> int:
        return self.ring.num_waiting

    def frames(self, most: int) -> list[Frame]:
        """The oldest that wait."""
        first = self.ring.num_given_back
        count = min(self.ring.num_waiting, most)
        return [read_frame(self.ring.slot(first + index), self._layout) for index in range(count)]

    def give_back(self, count: int) -> None:
        self.ring.give_back(count)
        self.ring.note_busy(max(0.0, self._busy_before + time.process_time()))

    def leave_out(self, seconds: float) -> None:
        """Time of a processor that is the user's own, and not the cost of watching."""
        self._busy_before -= seconds

    def give_up(self) -> Lost | None:
        """All that waits will never be read."""
        first, last = self.ring.num_given_back, self.ring.num_filled
        lost = lost_frames(self.ring, self.plan, range(first, last), "killed")
        self.ring.give_back(last - first)
        return lost

    def close(self) -> None:
        self.ring.close()
