"""When to look: so many times a second or every n-th step, and less often where looking costs too much."""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

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
_LEAST_RATE = 0.2  # looks a second that there are whatever they cost, where as many are asked for
_NUM_FIRST = 10  # steps that are looked at whatever it costs


LeftOut = Literal["budget", "thinned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """How often to look, as it was asked for."""

    per_second: float = math.inf
    num_steps: int = 1
    text: str = ""


def parse_rate(every: Any) -> Every:
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
                return parse_rate(int(match[1]))
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


def _after(due: float, now: float, interval: float) -> float:
    """When the next is due: keep to the beat, but do not catch up on what was missed."""
    if not interval:
        return -math.inf
    return (now if now - due > interval / 2 else due) + interval


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
        self._num_first = _NUM_FIRST if every.per_second >= _LEAST_RATE else 0  # steps that are left of those
        self._asked_time = -math.inf  # when the next look would be due if it cost nothing
        self.left_out: LeftOut | None = None  # why the last step is not watched, although that was asked for

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
        self._now, self.left_out = now, None
        if self._next_step is not None and step < self._next_step:
            return False
        is_first, self._num_first = self._num_first > 0, max(0, self._num_first - 1)
        is_asked = now >= self._asked_time
        if is_asked:
            self._asked_time = _after(self._asked_time, now, 1 / self.every.per_second)
        if not is_first and now < self._next_time:
            if is_asked:
                self.left_out = "thinned" if self._share_at(now) < 1 else "budget"
                self._next_step = step + self.every.num_steps
            return False
        self._next_time = _after(self._next_time, now, 1 / self.most_per_second())
        self._next_step = step + self.every.num_steps
        return True

    def most_per_second(self) -> float:
        """The rate that is kept: what was asked for, or what the budget allows, but not next to nothing."""
        rate = self.every.per_second
        if self.budget is not None and self._cost:
            rate = min(rate, self.budget / self._cost)
        share = self._share_at(self._now)
        if share < 1:
            rate = min(rate, 1 / (self._step_seconds or 0.05)) * share
        return max(rate, min(_LEAST_RATE, self.every.per_second))

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
