"""Gradients that have faded to nothing on their way back through the model: the first layers do not learn."""

from __future__ import annotations

from typing import Final

import numpy

from torcheer.inspector.alarms.bouts import Bouts
from torcheer.inspector.alarms.gradients import gradient_places
from torcheer.inspector.alarms.sight import Finding, Sight
from torcheer.inspector.alarms.words import counted, number, parameter
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds

_FEWEST: Final = 3  # of two layers, nobody can say which is the odd one
_WELL: Final = 3.0  # times the limit: between the two it is neither bad nor well


class VanishingGradient:
    """Compares the first layers of a model with the layer whose gradient is largest, at the same step.

    Where all has been learned, all gradients are small, and where a layer further on has a small one (that
    of an attention that looks everywhere alike), nothing is lost. Weights of one dimension do not count: a
    bias before a normalisation has no gradient to speak of. Nor does exactly 0, which is another alarm.
    """

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._places = gradient_places(plan)
        self._bout = Bouts(1, thresholds.steps, thresholds.well_steps)

    def renewed(self, plan: Plan) -> VanishingGradient:
        new = VanishingGradient(plan, self._thresholds)
        new._bout = self._bout
        return new

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def look(self, sight: Sight) -> list[Finding]:
        factor = self._thresholds.vanishing_gradient
        if len(self._places) < _FEWEST or factor is None:
            return []
        indices = self._places.indices
        norms = sight.column("norm", indices)
        is_counted = (norms > 0) & (sight.frame.rows["num_dims"][indices] > 1) & sight.is_finite(indices)
        counting = numpy.flatnonzero(is_counted)
        if len(counting) < _FEWEST:
            return []
        first, largest = int(counting[0]), int(counting[numpy.argmax(norms[counting])])
        limit = factor * float(norms[largest])
        is_bad = norms[first] < limit
        is_known = is_bad or norms[first] > _WELL * limit
        if not len(self._bout.update(numpy.array([is_bad]), numpy.array([is_known]))):
            return []
        num_like_it = int(numpy.argmax(norms[counting] >= limit))
        return [self._finding(sight, (first, largest), norms[[first, largest]].tolist(), num_like_it - 1)]

    def _finding(self, sight: Sight, places: tuple[int, int], norms: list[float], num_more: int) -> Finding:
        row, other = (self._places.rows[place] for place in places)
        message = (
            f"vanishing gradient in {parameter(row)}: norm {number(norms[0])} at step {sight.frame.step:,}, "
            f"while it is {number(norms[1])} in {parameter(other)}"
        )
        if num_more:
            message += f"; no better in {counted(num_more, 'weight')} after it"
        limit = norms[1] * float(self._thresholds.vanishing_gradient or 0)
        return Finding(
            layer=row.layer, variable=row.variable, value=norms[0], threshold=limit, message=message
        )
