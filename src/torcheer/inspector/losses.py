"""Count what never reached the child, by the names of rows, and say so from time to time."""

from __future__ import annotations

import time
from collections import Counter
from typing import Literal

from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan

_SAYING_SECONDS = 0.5
ALL_ROWS = "all that is watched"
_FIRST_SECONDS, _MOST_SECONDS = 10.0, 600.0  # between two words on what the budget left out


class Losses:
    """Frames of one child that could not be handed over."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # of all time
        self._num_lost = 0  # frames of all time
        self._frames = 0
        self._plan: Plan | None = None
        self._steps = (0, 0)
        self._said_at = 0.0

    def count(self, plan: Plan, step: int, ring: Ring | None) -> Lost | None:
        """A frame of this plan was lost at this step. Returns what is to be said of an earlier plan."""
        said = self.due(time.monotonic(), now=True) if self._plan not in (None, plan) else None
        self._steps = (self._steps[0] if self._frames else step, step)
        self._plan = plan
        self._frames += 1
        self._num_lost += 1
        if ring is not None:
            ring.note_lost(self._num_lost, *self._steps)
        self.counts.update(row.name for row in plan.rows)
        return said

    def due(self, seconds: float, *, now: bool = False) -> Lost | None:
        """What was lost since it was last said, if it is time to say it."""
        if not self._frames or self._plan is None or not (now or seconds - self._said_at > _SAYING_SECONDS):
            return None
        said = Lost(
            reason="full",
            counts={row.name: self._frames for row in self._plan.rows},
            first_step=self._steps[0],
            last_step=self._steps[1],
            time=time.time(),
            num_lost=self._num_lost,
        )
        self._frames, self._said_at = 0, seconds
        return said


class LeftOut:
    """Looks that were asked for and left out: they would have cost too much, or the rate was thinned."""

    def __init__(self, reason: Literal["budget", "full"]) -> None:
        self._reason: Literal["budget", "full"] = reason
        self.num_looks = 0  # of all time
        self._num_new = self._num_records = 0
        self._steps = (0, 0)
        self._said_at, self._pause = time.monotonic(), _FIRST_SECONDS

    def count(self, plan: Plan, step: int) -> None:
        self._steps = (self._steps[0] if self._num_new else step, step)
        self._num_new += 1
        self._num_records += len(plan.rows)
        self.num_looks += 1

    def due(self, seconds: float, *, now: bool = False) -> Lost | None:
        """What was left out since it was last said; it is said less and less often."""
        if not self._num_new or not (now or seconds - self._said_at > self._pause):
            return None
        self._said_at, self._pause = seconds, min(_MOST_SECONDS, 2 * self._pause)
        counts = {ALL_ROWS: self._num_records}  # by name, it would be a list of all rows each time
        self._num_new = self._num_records = 0
        first, last = self._steps
        return Lost(reason=self._reason, counts=counts, first_step=first, last_step=last, time=time.time())
