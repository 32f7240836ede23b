"""A loss that leaps far out of what it has been lately."""

from __future__ import annotations

import math
from collections import deque
from statistics import median
from typing import Final

from torcheer.inspector.alarms.sight import Finding, Sight
from torcheer.inspector.alarms.words import number
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds
from torcheer.run import is_loss

_WINDOW: Final = 64  # values that say what is usual
_FEWEST: Final = 20  # before that nothing is usual
_NORMAL: Final = 1.4826  # from the median distance to the median, to the standard deviation of a normal
_ABOVE_HIGHEST: Final = 3.0  # times as far out as the farthest of the window
_LEAST_RISE: Final = 0.5  # of the usual loss
_LEAST_LOST: Final = 0.1  # of all that was learned: ripples of a loss next to 0 harm nobody
_MOST_SERIES: Final = 1000


class LossSpike:
    """Remembers the last values of each loss.

    What is usual is a median, and so is how far values stray from it: neither minds a few that lie outside.
    Losses that are often far out, as those of single examples are, vary by factors rather than by amounts; so
    the same must hold for the logarithms, where all are positive; there, a fall is taken out first.
    """

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._series: dict[str, _Series] = {}

    def renewed(self, plan: Plan) -> LossSpike:
        return self  # it knows nothing of rows

    def look(self, sight: Sight) -> list[Finding]:
        return []

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        factor = self._thresholds.loss_spike
        if factor is None:
            return []
        findings = []
        for name, value in numbers.values.items():
            if not is_loss(name) or not math.isfinite(value):
                continue
            if name not in self._series:
                if len(self._series) >= _MOST_SERIES:
                    continue
                self._series[name] = _Series(self._thresholds.well_steps)
            usual_and_limit = self._series[name].look(value, factor)
            if usual_and_limit is not None:
                usual, limit = usual_and_limit
                message = (
                    f"{name} spiked to {number(value)} at step {numbers.step:,}, "
                    f"from {number(usual)} before that"
                )
                findings.append(
                    Finding(layer="", variable=name, value=value, threshold=limit, message=message)
                )
        return findings


class _Series:
    """The recent past of one loss."""

    def __init__(self, well_steps: int) -> None:
        self._well_steps = well_steps
        self._values: deque[float] = deque(maxlen=_WINDOW)
        self._highest_usual = -math.inf
        self._num_well = 0
        self._is_raised = False

    def look(self, value: float, factor: float) -> tuple[float, float] | None:
        """What is usual, and the limit, where the value is a spike that was not told yet."""
        told = None
        if len(self._values) >= _FEWEST:
            usual = median(self._values)
            self._highest_usual = max(self._highest_usual, usual)
            limit = self._limit(usual, factor)
            is_spike = value > limit
            self._num_well = 0 if is_spike else self._num_well + 1
            if self._num_well >= self._well_steps:
                self._is_raised = False
            if is_spike and not self._is_raised:
                self._is_raised = True
                told = usual, limit
        self._values.append(value)
        return told

    def _limit(self, usual: float, factor: float) -> float:
        limit = usual + max(
            _limit_above(list(self._values), usual, factor),
            _LEAST_RISE * abs(usual),
            _LEAST_LOST * (self._highest_usual - usual),
        )
        if not any(self._values):
            return math.inf  # of a loss that was always 0, nothing says what is much
        if min(self._values) <= 0:
            return limit
        logarithms = _without_fall([math.log(value) for value in self._values])
        middle = median(logarithms)
        by_factors = middle + _limit_above(logarithms, middle, factor / 2)
        # Beyond that there is no such number.
        return max(limit, math.exp(by_factors)) if by_factors < 700 else math.inf


def _without_fall(values: list[float]) -> list[float]:
    """As they would be if all were at the level of the last ones: that a loss falls is no noise."""
    third = len(values) // 3
    slope = (median(values[-third:]) - median(values[:third])) / (len(values) - third)
    if slope >= 0:
        return values
    last = len(values) - 1
    return [value + slope * (last - place) for place, value in enumerate(values)]


def _limit_above(values: list[float], usual: float, factor: float) -> float:
    """So far above the usual a value must lie."""
    spread = _NORMAL * median(abs(value - usual) for value in values)
    return max(factor * spread, _ABOVE_HIGHEST * (max(values) - usual))
