"""Weights that do not move although the model learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.common import (
    Bouts,
    Finding,
    FrameFigures,
    Indices,
    Kind,
    Marks,
    counted,
    parameter,
)
from torcheer.inspector.frame_format import Plan
from torcheer.inspector.protocol import Thresholds

_ALL: Final = 10  # times as many steps where no weight moves: learning rates begin and end at 0
_AGAIN: Final = 5  # times as many steps for a weight that once had a gradient: it may have learned all
_SMALL: Final = 1e-3  # of the largest gradient: below that, nobody minds where an update is lost
_FADING: Final = 0.99  # what is left of the largest gradient after a step
_LEAST_CHANGE: Final = 1e-6  # of the weight: smaller updates are lost in rounding, as those of a small rate


class StuckWeight(Kind):
    """Counts for each weight the steps without a gradient, and those in which one changed nothing.

    Rows of gradients are those of weights that ask for one: a weight that is frozen has none. Nothing is
    concluded from a sample in which no element has a gradient, as with the rare words of an embedding; nor
    from a gradient that came before and is not there now: the layer may be left out for a while.
    """

    remembered = ("_num_all_unmoved", "_bout_of_all")
    of_places = ("_num_without", "_num_unmoved", "_largest", "_bouts")

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        chosen = [index for index, row in enumerate(plan.rows) if row.role == "weight_gradient"]
        super().__init__(plan, thresholds, chosen)
        acts = {row.layer: index for index, row in enumerate(plan.rows) if row.role == "activation"}
        self._acts = numpy.array([acts.get(row.layer, -1) for row in self._places.rows], dtype=numpy.intp)
        self._moving = Moving(plan, [parameter(row) for row in self._places.rows])
        self._num_without = numpy.zeros(len(chosen), dtype=numpy.int64)
        self._num_unmoved = numpy.zeros(len(chosen), dtype=numpy.int64)
        self._num_all_unmoved = 0
        self._largest = numpy.zeros(len(chosen))
        self._bouts = Bouts(len(chosen), 1, thresholds.well_steps)
        self._bout_of_all = Bouts(1, 1, thresholds.well_steps)

    def look(self, sight: FrameFigures) -> list[Finding]:
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
        self, sight: FrameFigures, norms: NDArray[numpy.float64], is_moved: Marks, is_same: Marks
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

    def _finding(self, sight: FrameFigures, place: int, why: str) -> Finding:
        row = self._places.rows[place]
        count = max(self._num_without[place], self._num_unmoved[place])
        message = (
            f"{parameter(row)} does not move: {why}, for {counted(int(count), 'watched step')} "
            f"up to step {sight.frame.step:,}"
        )
        return Finding(row.layer, row.variable.removesuffix(".Grad"), 0.0, None, message)

    def _finding_of_all(self, sight: FrameFigures) -> Finding:
        row = self._places.rows[0]
        message = (
            f"no weight moves, from {parameter(row)} on: they have gradients, and stay the same, for "
            f"{counted(self._num_all_unmoved, 'watched step')} up to step {sight.frame.step:,}. "
            "Is the learning rate 0, or does the optimizer have other parameters?"
        )
        return Finding(row.layer, row.variable.removesuffix(".Grad"), 0.0, None, message)


def _why(is_without: bool, is_there: bool) -> str:
    if not is_without:
        return "it has a gradient, and stays the same"
    return "its gradient is 0" if is_there else "it gets no gradient"


# --- whether weights moved ------------------------------------------------------------------------------


class Moving:
    """Keeps the last sample of each weight. Where only updates are watched, they say the same."""

    def __init__(self, plan: Plan, parameters: Sequence[str]) -> None:
        places = {row.name: index for index, row in enumerate(plan.rows)}
        weights = [places.get(name, -1) for name in parameters]
        updates = [places.get(f"{name}.Delta", -1) for name in parameters]
        rows = [update if weight < 0 else weight for weight, update in zip(weights, updates, strict=True)]
        self._rows = numpy.maximum(numpy.array(rows, dtype=numpy.intp), 0)
        self._is_watched = numpy.array(rows, dtype=numpy.intp) >= 0
        self._is_update = self._is_watched & (numpy.array(weights, dtype=numpy.intp) < 0)
        # An update is the change itself: it is compared with nothing.
        self._before = numpy.zeros((len(rows), plan.sample_elements), dtype=numpy.float32)
        self._now = self._before
        self._num_before = numpy.full(len(rows), -1, dtype=numpy.int64)  # of the sample; -1: not seen
        self._is_sampled = numpy.zeros(self._before.shape, dtype=numpy.bool_)

    def look(self, sight: FrameFigures) -> tuple[Marks, Marks]:
        """Which parameters moved, and which stayed exactly the same; neither where it is not known."""
        is_seen = sight.is_seen(self._rows) & self._is_watched
        num_now = numpy.where(is_seen, sight.frame.rows["num_sampled"][self._rows], -1).astype(numpy.int64)
        self._before, self._now = self._now, sight.frame.samples[self._rows]
        self._before[self._is_update] = 0
        is_known = is_seen & (num_now > 0) & ((num_now == self._num_before) | self._is_update)
        if not numpy.array_equal(num_now, self._num_before):
            self._num_before = num_now
            self._is_sampled = numpy.arange(self._now.shape[1]) < num_now[:, None]
        is_changed = ((self._now != self._before) & self._is_sampled).any(axis=1)
        return is_changed & is_known, ~is_changed & is_known

    def has_gradient(self, sight: FrameFigures, gradients: Indices) -> Marks:
        """Whether an element of the sample has one: if not, there is no reason why it should move."""
        has: Marks = ((sight.frame.samples[gradients] != 0) & self._is_sampled).any(axis=1)
        return has

    def expected_changes(
        self, sight: FrameFigures, norms: NDArray[numpy.float64], is_moved: Marks
    ) -> NDArray[numpy.float64]:
        """How much of each weight should have changed since it was last seen, by those that moved.

        Some optimizers change a weight by its gradient, and some make all changes alike. This is right for
        the first, and good enough for the others.
        """
        gradients = norms / numpy.sqrt(numpy.maximum(sight.frame.rows["num_elements"][self._rows], 1))
        rates = (self._sizes(self._now - self._before) / gradients)[is_moved]
        rates = rates[numpy.isfinite(rates)]
        if not len(rates):
            return numpy.zeros(len(norms))
        sizes = self._sizes(self._now)
        expected = numpy.median(rates) * gradients / sizes
        # Of updates alone, or of weights that are 0, it is not known how much would be little.
        return numpy.where(self._is_update | (sizes == 0), numpy.inf, expected)

    def _sizes(self, samples: NDArray[numpy.float32]) -> NDArray[numpy.float64]:
        """Of an element, as the square root of the mean square."""
        wide = numpy.where(self._is_sampled, samples, 0).astype(numpy.float64)
        squares = numpy.einsum("ij,ij->i", wide, wide) / numpy.maximum(self._num_before, 1)
        sizes: NDArray[numpy.float64] = numpy.sqrt(squares)
        return sizes
