"""What the training counted and could not say any more when it was killed: it stands in the ring's head."""

from __future__ import annotations

import time

from torcheer.inspector.child.losing import Reason
from torcheer.inspector.messages import Lost, Numbers
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan


class Unheard:
    """Up to where the child has been told. A child that takes the place of another goes on from there."""

    def __init__(self) -> None:
        self._num_lost = self._num_told = 0
        self._names: tuple[str, ...] = ()  # of the numbers that were heard last
        self._step = 0
        self._ring: Ring | None = None

    def begin(self, ring: Ring) -> None:
        self._ring = ring
        self._note(ring.num_lost_heard, ring.num_heard)

    def hear_numbers(self, numbers: Numbers) -> None:
        if numbers.number:
            self._names, self._step = tuple(numbers.values), numbers.step
            self._note(0, numbers.number)

    def hear_lost(self, lost: Lost) -> None:
        self._note(lost.num_lost, lost.num_told)

    def _note(self, num_lost: int, num_told: int) -> None:
        self._num_lost, self._num_told = max(self._num_lost, num_lost), max(self._num_told, num_told)
        if self._ring is not None:
            self._ring.note_heard(self._num_lost, self._num_told)

    def rest(self, plan: Plan) -> list[Lost]:
        """What is missing and was never said, when the training is gone."""
        if self._ring is None:
            return []
        found = []
        total, first_step, last_step = self._ring.lost
        if total > self._num_lost:
            counts = {row.name: total - self._num_lost for row in plan.rows}
            found.append(_lost("full", counts, first_step, last_step))
        num_unheard = self._ring.num_told - self._num_told
        if num_unheard > 0 and self._names:
            counts = dict.fromkeys(self._names, num_unheard)
            found.append(_lost("killed", counts, self._step + 1, max(self._step + 1, last_step)))
        self._note(total, self._ring.num_told)
        return found


def _lost(reason: Reason, counts: dict[str, int], first_step: int, last_step: int) -> Lost:
    return Lost(
        reason=reason,
        counts=counts,
        first_step=first_step,
        last_step=last_step,
        time=time.time(),
    )
