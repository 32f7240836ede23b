"""Count what never reached the child, by the names of rows, and say so from time to time."""

from __future__ import annotations

import time
from collections import Counter
from typing import Literal

from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan

_SAYING_SECONDS = 0.5


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
        reason: Literal["full"] = "full"
        said = Lost(
            reason=reason,
            counts={row.name: self._frames for row in self._plan.rows},
            first_step=self._steps[0],
            last_step=self._steps[1],
            time=time.time(),
            num_lost=self._num_lost,
        )
        self._frames, self._said_at = 0, seconds
        return said
