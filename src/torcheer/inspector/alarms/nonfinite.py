"""NaN and infinite values: where they began, which is one alarm, however far they have spread."""

from __future__ import annotations

from typing import Final

import numpy

from torcheer.inspector.alarms.sight import Finding, Indices, Sight
from torcheer.inspector.alarms.words import counted, parameter, percent
from torcheer.inspector.columns import COLUMN
from torcheer.inspector.frames import HAS_NORM, HAS_POSITIVE_INF
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan, Row
from torcheer.inspector.thresholds import Thresholds
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


class Nonfinite:
    """Remembers whether anything is known to be wrong: until all is well again, nothing more is said."""

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._rows = plan.rows
        self._thresholds = thresholds
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

    def renewed(self, plan: Plan) -> Nonfinite:
        new = Nonfinite(plan, self._thresholds)
        new._is_raised, new._num_well, new._num_skipped = self._is_raised, self._num_well, self._num_skipped
        new._numbers = self._numbers
        return new

    def look(self, sight: Sight) -> list[Finding]:
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
                    findings.append(
                        Finding(layer="", variable=name, value=None, threshold=None, message=message)
                    )
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

    def _is_mask(self, sight: Sight, bad: Indices) -> bool:
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

    def _was_skipped(self, sight: Sight, bad: Indices, cause: int) -> bool:
        """Gradients alone are bad, and did not reach the weights: somebody looks after that already."""
        if _STAGES[self._rows[cause].role] != _BACKWARD:
            return False
        if any(_STAGES[self._rows[index].role] > _BACKWARD for index in bad.tolist()):
            return False
        updates = [self._updates[index] for index in bad.tolist() if index in self._updates]
        return bool(updates) and bool(sight.is_seen(numpy.array(updates, dtype=numpy.intp)).all())

    def _finding(self, sight: Sight, index: int, num_others: int) -> Finding:
        row = self._rows[index]
        nan, inf = (float(sight.figures[index, COLUMN[name]]) for name in ("nan", "inf"))
        what = "NaN and infinite values" if nan and inf else ("NaN" if nan else "infinite values")
        message = f"{what} in {row.name} at step {sight.frame.step:,}: {percent(nan + inf)} of it"
        if num_others:
            # Not that they came after it: a weight that somebody else spoiled is read at the end of the step.
            are = "is" if num_others == 1 else "are"
            message += f"; {counted(num_others, 'other tensor')} {are} not finite in the same step"
        return Finding(
            layer=row.layer, variable=row.variable, value=nan + inf, threshold=0.0, message=message
        )


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
