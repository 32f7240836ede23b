"""Gradients that reach a layer as next to nothing, while others of the same model are as they should be."""

from __future__ import annotations

from typing import Final

import numpy

from torcheer.inspector.alarms.bouts import Bouts
from torcheer.inspector.alarms.gradients import gradient_places
from torcheer.inspector.alarms.sight import Finding, Sight
from torcheer.inspector.alarms.words import number, parameter
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds

_FEWEST: Final = 3  # of two layers, nobody can say which is the odd one


class VanishingGradient:
    """Compares the layers of a model at one step: where all has been learned, all gradients are small.

    Weights of one dimension do not count: a bias before a normalisation has no gradient to speak of, and
    needs none. Nor does a gradient of exactly 0: that is another alarm.
    """

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._places = gradient_places(plan)
        self._bouts = Bouts(len(self._places), thresholds.steps, thresholds.well_steps)

    def renewed(self, plan: Plan) -> VanishingGradient:
        new = VanishingGradient(plan, self._thresholds)
        new._places.carry(self._places, new._bouts.pairs_with(self._bouts))
        return new

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def look(self, sight: Sight) -> list[Finding]:
        if len(self._places) < _FEWEST or self._thresholds.vanishing_gradient is None:
            return []
        indices = self._places.indices
        norms = sight.column("norm", indices)
        counts = (norms > 0) & (sight.frame.rows["num_dims"][indices] > 1) & sight.is_finite(indices)
        if counts.sum() < _FEWEST:
            return []
        largest = int(numpy.argmax(numpy.where(counts, norms, -1)))
        limit = float(self._thresholds.vanishing_gradient * norms[largest])
        due = self._bouts.update(norms < limit, counts)
        due = due[numpy.argsort(norms[due], kind="stable")]
        return [self._finding(sight, place, largest, (norms[place], norms[largest], limit)) for place in due]

    def _finding(self, sight: Sight, place: int, largest: int, norms: tuple[float, float, float]) -> Finding:
        row, other = self._places.rows[place], self._places.rows[largest]
        norm, largest_norm, limit = (float(value) for value in norms)
        message = (
            f"vanishing gradient in {parameter(row)}: norm {number(norm)} at step {sight.frame.step:,}, "
            f"while it is {number(largest_norm)} in {parameter(other)}"
        )
        return Finding(layer=row.layer, variable=row.variable, value=norm, threshold=limit, message=message)
