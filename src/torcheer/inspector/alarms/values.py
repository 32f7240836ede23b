"""NaN and infinite values: where they began, which is one alarm, however far they have spread."""

from __future__ import annotations

import math
from collections import deque
from statistics import median
from typing import Final

import numpy

from torcheer.inspector.alarms.common import (
    Finding,
    FrameFigures,
    Indices,
    Kind,
    counted,
    number,
    parameter,
    percent,
)
from torcheer.inspector.frame_format import COLUMN, HAS_NORM, HAS_POSITIVE_INF, Plan, Row
from torcheer.inspector.protocol import Numbers, Thresholds
from torcheer.run import is_loss

# A step goes forward, then backward, then it changes the weights. What comes first is the cause. A weight
# that is not trained was there before all of them.
_STAGES: Final = {
    "tensor": 0,
    "activation": 0,
    "gradient": 1,
    "weight_gradient": 1,
    "state": 2,
    "update": 3,
    "weight": 4,
}
_BEFORE, _BACKWARD = -1, 1
_MOST_SKIPPED: Final = 3  # steps in a row that were skipped for their gradients, as loss scaling does


class Nonfinite(Kind):
    """Remembers whether anything is known to be wrong: until all is well again, nothing more is said."""

    remembered = ("_is_raised", "_num_well", "_num_skipped", "_numbers")

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds)
        self._rows = plan.rows
        self._causes = sorted(range(len(plan.rows)), key=_places_in_a_step(plan).__getitem__)
        places = {row.name: index for index, row in enumerate(plan.rows)}
        self._updates = {
            index: places[update]
            for index, row in enumerate(plan.rows)
            if row.role == "weight_gradient"
            and (update := f"{row.name.removesuffix('.Grad')}.Delta") in places
        }
        self._is_raised = False
        self._num_well = 0
        self._num_skipped = 0
        self._numbers: set[str] = set()  # that were not finite when last seen

    def look(self, sight: FrameFigures) -> list[Finding]:
        shares = sight.figures[:, COLUMN["nan"]] + sight.figures[:, COLUMN["inf"]]
        bad = numpy.flatnonzero(shares > 0)
        if not len(bad) or self._is_mask(sight, bad):
            self._num_skipped = 0
            self._num_well += 1
            if self._num_well >= self._thresholds.well_steps:
                self._is_raised = False
            return []
        self._num_well = 0
        cause = self._cause(set(bad.tolist()))
        if self._was_skipped(sight, bad, cause):
            self._num_skipped += 1
            if self._num_skipped < _MOST_SKIPPED:
                return []
        if self._is_raised:
            return []
        self._is_raised = True
        return [self._finding(sight, cause, len(bad) - 1)]

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        findings = []
        for name, value in numbers.values.items():
            if numpy.isfinite(value):
                self._numbers.discard(name)
            elif is_loss(name) and name not in self._numbers:
                self._numbers.add(name)
                if not self._is_raised:  # else it follows from what was said
                    what = "NaN" if numpy.isnan(value) else "infinite"
                    message = f"{name} is {what} at step {numbers.step:,}"
                    findings.append(Finding("", name, None, None, message))
        return findings

    def _cause(self, bad: set[int]) -> int:
        """The first in the order of a step. What holds another that is bad comes after that one."""
        ordered = [index for index in self._causes if index in bad]
        first = ordered[0]
        if _STAGES[self._rows[first].role] == 0:
            layers = {self._rows[index].layer for index in ordered if self._rows[index].role == "activation"}
            for index in ordered:
                row = self._rows[index]
                if _STAGES[row.role] == 0 and not any(_is_within(layer, row.layer) for layer in layers):
                    return index
        return first

    def _is_mask(self, sight: FrameFigures, bad: Indices) -> bool:
        """Minus infinity in what layers give, which harms nothing: this is how positions are masked."""
        if any(self._rows[index].role != "activation" for index in bad.tolist()):
            return False
        if (sight.figures[bad, COLUMN["nan"]] > 0).any():
            return False
        for index in bad.tolist():
            head = sight.frame.rows[index]
            sample = sight.frame.samples[index, : head["num_sampled"]]
            is_seen_whole = head["flags"] & HAS_NORM  # else the sample is all that is known
            if head["flags"] & HAS_POSITIVE_INF or (not is_seen_whole and (sample == numpy.inf).any()):
                return False
        return len(bad) < sum(row.role == "activation" for row in self._rows)

    def _was_skipped(self, sight: FrameFigures, bad: Indices, cause: int) -> bool:
        """Gradients alone are bad, and did not reach the weights: somebody looks after that already."""
        if _STAGES[self._rows[cause].role] != _BACKWARD:
            return False
        if any(_STAGES[self._rows[index].role] > _BACKWARD for index in bad.tolist()):
            return False
        updates = [self._updates[index] for index in bad.tolist() if index in self._updates]
        return bool(updates) and bool(sight.is_seen(numpy.array(updates, dtype=numpy.intp)).all())

    def _finding(self, sight: FrameFigures, index: int, num_others: int) -> Finding:
        row = self._rows[index]
        nan, inf = (float(sight.figures[index, COLUMN[name]]) for name in ("nan", "inf"))
        what = "NaN and infinite values" if nan and inf else ("NaN" if nan else "infinite values")
        message = f"{what} in {row.name} at step {sight.frame.step:,}: {percent(nan + inf)} of it"
        if num_others:
            # Not that they came after it: a weight that somebody else spoiled is read at the end of the step.
            are = "is" if num_others == 1 else "are"
            message += f"; {counted(num_others, 'other tensor')} {are} not finite in the same step"
        return Finding(row.layer, row.variable, nan + inf, 0.0, message)


def _places_in_a_step(plan: Plan) -> list[tuple[int, int, int]]:
    """For each row, when in a step it comes: backward, the last layer is the first."""
    layers: dict[str, int] = {}
    for row in plan.rows:
        layers.setdefault(row.layer, len(layers))
    frozen = _frozen(plan)
    return [
        (_BEFORE, index, 0) if row.name in frozen else _place(row, index, layers[row.layer])
        for index, row in enumerate(plan.rows)
    ]


def _frozen(plan: Plan) -> set[str]:
    """Weights that no step changes: they have no update where others have one. Nobody knows without those."""
    trained = {parameter(row) for row in plan.rows if row.role in ("weight_gradient", "update")}
    return {row.name for row in plan.rows if row.role == "weight"} - trained if trained else set()


def _place(row: Row, index: int, layer: int) -> tuple[int, int, int]:
    stage = _STAGES[row.role]
    if stage != _BACKWARD:
        return stage, index, 0
    return stage, -layer, 0 if row.role == "gradient" else 1


def _is_within(inner: str, outer: str) -> bool:
    return inner != outer and (not outer or inner.startswith(f"{outer}."))


# --- loss spikes ----------------------------------------------------------------------------------------


_WINDOW: Final = 64  # values that say what is usual
_FEWEST: Final = 20  # before that nothing is usual
_NORMAL: Final = 1.4826  # from the median distance to the median, to the standard deviation of a normal
_ABOVE_HIGHEST: Final = 3.0  # times as far out as the farthest of the window
_LEAST_RISE: Final = 0.5  # of the usual loss
_LEAST_LOST: Final = 0.1  # of all that was learned: ripples of a loss next to 0 harm nobody
_MOST_SERIES: Final = 1000


class LossSpike(Kind):
    """Remembers the last values of each loss.

    What is usual is a median, and so is how far values stray from it: neither minds a few that lie outside.
    Losses that are often far out, as those of single examples are, vary by factors rather than by amounts; so
    the same must hold for the logarithms, where all are positive; there, a fall is taken out first.
    """

    remembered = ("_series",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds)
        self._series: dict[str, _Series] = {}

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
                findings.append(Finding("", name, value, limit, message))
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
