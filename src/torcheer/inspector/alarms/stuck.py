"""Weights that do not move although the model learns."""

from __future__ import annotations

from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.bouts import Bouts
from torcheer.inspector.alarms.moving import Moving
from torcheer.inspector.alarms.sight import Finding, Marks, Places, Sight
from torcheer.inspector.alarms.words import counted, parameter
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds

_ALL: Final = 10  # times as many steps where no weight moves: learning rates begin and end at 0
_AGAIN: Final = 5  # times as many steps for a weight that once had a gradient: it may have learned all
_SMALL: Final = 1e-3  # of the largest gradient: below that, nobody minds where an update is lost
_FADING: Final = 0.99  # what is left of the largest gradient after a step
_LEAST_CHANGE: Final = 1e-6  # of the weight: smaller updates are lost in rounding, as those of a small rate


class StuckWeight:
    """Counts for each weight the steps without a gradient, and those in which one changed nothing.

    Rows of gradients are those of weights that ask for one: a weight that is frozen has none. Nothing is
    concluded from a sample in which no element has a gradient, as with the rare words of an embedding; nor
    from a gradient that came before and is not there now: the layer may be left out for a while.
    """

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        chosen = [index for index, row in enumerate(plan.rows) if row.role == "weight_gradient"]
        self._places = Places(plan, chosen)
        acts = {row.layer: index for index, row in enumerate(plan.rows) if row.role == "activation"}
        self._acts = numpy.array([acts.get(row.layer, -1) for row in self._places.rows], dtype=numpy.intp)
        self._moving = Moving(plan, [parameter(row) for row in self._places.rows])
        self._num_without = numpy.zeros(len(chosen), dtype=numpy.int64)
        self._num_unmoved = numpy.zeros(len(chosen), dtype=numpy.int64)
        self._num_all_unmoved = 0
        self._largest = numpy.zeros(len(chosen))
        self._bouts = Bouts(len(chosen), 1, thresholds.well_steps)
        self._bout_of_all = Bouts(1, 1, thresholds.well_steps)

    def renewed(self, plan: Plan) -> StuckWeight:
        new = StuckWeight(plan, self._thresholds)
        new._places.carry(
            self._places,
            [
                (new._num_without, self._num_without),
                (new._num_unmoved, self._num_unmoved),
                (new._largest, self._largest),
                *new._bouts.pairs_with(self._bouts),
            ],
        )
        new._num_all_unmoved, new._bout_of_all = self._num_all_unmoved, self._bout_of_all
        return new

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def look(self, sight: Sight) -> list[Finding]:
        steps = self._thresholds.stuck_weight
        if not len(self._places) or steps is None:
            return []
        indices = self._places.indices
        is_there = sight.is_seen(indices)
        norms = numpy.where(is_there & sight.is_finite(indices), sight.column("norm", indices), numpy.nan)
        is_moved, is_same = self._moving.look(sight)
        self._count_unmoved(sight, norms, is_moved, is_same)
        is_whole = is_there & sight.has_exact_norm(indices)
        # A layer that is not called, such as one of many experts, is not to blame.
        is_called = (self._acts < 0) | sight.is_seen(self._acts)
        is_left_out = ~is_there & is_called & (self._largest == 0) & is_same & is_moved.any()
        self._count_without(norms, ((norms == 0) & is_whole) | is_left_out)
        self._largest = numpy.fmax(_FADING * self._largest, norms)
        is_without = self._num_without >= numpy.where(self._largest > 0, _AGAIN * steps, steps)
        due = self._bouts.update(is_without | (self._num_unmoved >= steps), is_there | is_left_out)
        findings = [
            self._finding(sight, place, _why(bool(is_without[place]), bool(is_there[place])))
            for place in due.tolist()
        ]
        is_all_stuck = numpy.array([self._num_all_unmoved >= _ALL * steps])
        if len(self._bout_of_all.update(is_all_stuck, numpy.array([bool(is_there.any())]))):
            findings.insert(0, self._finding_of_all(sight))
        return findings

    def _count_without(self, norms: NDArray[numpy.float64], is_without: Marks) -> None:
        has_gradient = norms > 0
        # Where none has a gradient any more, all has been learned; where none ever had one, it is odd.
        if has_gradient.any() or not self._largest.any():
            self._num_without[is_without] += 1
        self._num_without[has_gradient] = 0

    def _count_unmoved(
        self, sight: Sight, norms: NDArray[numpy.float64], is_moved: Marks, is_same: Marks
    ) -> None:
        self._num_unmoved[is_moved] = 0
        is_odd = is_same & (norms > _SMALL * self._largest)
        if is_odd.any():
            is_odd &= self._moving.has_gradient(sight, self._places.indices)
        if is_moved.any():
            self._num_all_unmoved = 0
            if is_odd.any():
                expected = self._moving.expected_changes(sight, norms, is_moved)
                self._num_unmoved[is_odd & (expected > _LEAST_CHANGE)] += 1
        elif is_odd.any():
            self._num_all_unmoved += 1

    def _finding(self, sight: Sight, place: int, why: str) -> Finding:
        row = self._places.rows[place]
        count = max(self._num_without[place], self._num_unmoved[place])
        message = (
            f"{parameter(row)} does not move: {why}, for {counted(int(count), 'watched step')} "
            f"up to step {sight.frame.step:,}"
        )
        variable = row.variable.removesuffix(".Grad")
        return Finding(layer=row.layer, variable=variable, value=0.0, threshold=None, message=message)

    def _finding_of_all(self, sight: Sight) -> Finding:
        row = self._places.rows[0]
        message = (
            f"no weight moves, from {parameter(row)} on: they have gradients, and stay the same, for "
            f"{counted(self._num_all_unmoved, 'watched step')} up to step {sight.frame.step:,}. "
            "Is the learning rate 0, or does the optimizer have other parameters?"
        )
        variable = row.variable.removesuffix(".Grad")
        return Finding(layer=row.layer, variable=variable, value=0.0, threshold=None, message=message)


def _why(is_without: bool, is_there: bool) -> str:
    if not is_without:
        return "it has a gradient, and stays the same"
    return "its gradient is 0" if is_there else "it gets no gradient"
