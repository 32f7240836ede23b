"""When to look: so many times a second or every n-th step, and less often where looking costs too much."""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Any

from torcheer.errors import InputError

_RATE = re.compile(r"\s*([0-9.eE+-]+)\s*/\s*(s|sec|second|min|minute|h|hour)\s*\Z")
_STEPS = re.compile(r"\s*(?:every\s+)?([0-9]+)\s*(?:steps?)?\s*\Z")
_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_NUM_WARMING = 2  # looks that set things up and say nothing of the cost
_NUM_COSTS = 7  # of which the median holds: one that was disturbed says nothing
_MEMORY = 0.8  # how much of what was known of a step's length stays with each new one
_MOST_TIMES = 4.0  # of the usual length, above which a step counts as disturbed
_DOUBLING_SECONDS = 5.0  # in which a thinned rate doubles again
_LEAST_SHARE = 1 / 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """How often to look, as it was asked for."""

    per_second: float = math.inf
    num_steps: int = 1
    text: str = ""


def every_of(every: Any) -> Every:
    """`'20/s'`, `'6/min'`, 20.0 for a rate; 10 or `'10 steps'` for every tenth step."""
    if isinstance(every, Every):
        return every
    if isinstance(every, int) and not isinstance(every, bool) and every >= 1:
        return Every(num_steps=every, text=f"{every} steps" if every > 1 else "step")
    if isinstance(every, float) and 0 < every < math.inf:
        return Every(per_second=every, text=f"{every:g}/s")
    if isinstance(every, str):
        if match := _STEPS.match(every):
            if int(match[1]) >= 1:
                return every_of(int(match[1]))
        elif match := _RATE.match(every):
            rate = _number(match[1]) / _SECONDS[match[2]]
            if 0 < rate < math.inf:
                return Every(per_second=rate, text=every.strip())
    raise InputError(
        f"every is {every!r}: give a rate such as '20/s' or '6/min', or a whole number of steps."
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class Pace:
    """Decides at each step whether the next one is watched, and keeps the cost below a share of the time."""

    def __init__(self, every: Every, budget: float | None) -> None:
        self.every, self.budget = every, budget
        self._next_time = -math.inf
        self._next_step: int | None = None
        self._share = 1.0  # of the rate, where the ring was full and the rate is thinned for it
        self._thinned_at = self._now = 0.0
        self._num_looks = 0
        self._costs: deque[float] = deque(maxlen=_NUM_COSTS)
        self._cost: float | None = None  # seconds for a look, both processes together
        self._step_seconds: float | None = None  # from one step to the next

    @property
    def is_limited(self) -> bool:
        """Whether the cost, and not what was asked for, says how often to look."""
        return self.most_per_second() < self.every.per_second and self._steps_apart() > self.every.num_steps

    @property
    def cost(self) -> float | None:
        """Seconds that one look takes."""
        return self._cost

    def is_due(self, now: float, step: int) -> bool:
        """Whether to watch this step. Where it is, the next one is due an interval later."""
        self._now = now
        if self._next_step is not None and step < self._next_step:
            return False
        if now < self._next_time:
            return False
        interval = 1 / self.most_per_second()
        if interval:
            # Keep to the beat, but do not catch up on what was missed.
            is_late = now - self._next_time > interval / 2
            self._next_time = (now if is_late else self._next_time) + interval
        else:
            self._next_time = -math.inf
        self._next_step = step + self.every.num_steps
        return True

    def most_per_second(self) -> float:
        """The rate that is kept: what was asked for, or what the budget allows."""
        rate = self.every.per_second
        if self.budget is not None and self._cost:
            rate = min(rate, self.budget / self._cost)
        share = self._share_at(self._now)
        if share < 1:
            rate = min(rate, 1 / (self._step_seconds or 0.05)) * share
        return rate

    def note_look(self, seconds: float) -> None:
        """A look took so long, in the training and in the child."""
        self._num_looks += 1
        if self._num_looks > _NUM_WARMING:
            self._costs.append(seconds)
            self._cost = median(self._costs)

    def note_step(self, seconds: float) -> None:
        known = seconds if self._step_seconds is None else self._step_seconds
        self._step_seconds = _MEMORY * known + (1 - _MEMORY) * min(seconds, _MOST_TIMES * known)

    def thin(self, now: float) -> None:
        """The ring was full: look half as often, for a while."""
        self._share = max(_LEAST_SHARE, self._share_at(now) / 2)
        self._thinned_at = self._now = now

    def _share_at(self, now: float) -> float:
        """Of the rate; it doubles again as time goes by."""
        return min(1.0, self._share * 2 ** min(64.0, (now - self._thinned_at) / _DOUBLING_SECONDS))

    def _steps_apart(self) -> float:
        if not self._step_seconds:
            return self.every.num_steps
        return 1 / (self.most_per_second() * self._step_seconds)
