"""Bounded activations that give little but their bounds: hardly any gradient comes through them."""

from __future__ import annotations

from torcheer.inspector.alarms.bouts import WELL, Bouts
from torcheer.inspector.alarms.sight import Finding, Places, Sight
from torcheer.inspector.alarms.words import layer, percent
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds


class Saturated:
    """Looks at layers inside the model. At its end, a model that is sure of itself gives its bounds."""

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._places = Places(plan, _inner_activations(plan))
        self._bouts = Bouts(len(self._places), thresholds.steps, thresholds.well_steps)

    def renewed(self, plan: Plan) -> Saturated:
        new = Saturated(plan, self._thresholds)
        new._places.carry(self._places, new._bouts.pairs_with(self._bouts))
        return new

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def look(self, sight: Sight) -> list[Finding]:
        most = self._thresholds.saturated
        if not len(self._places) or most is None:
            return []
        shares = sight.column("saturated", self._places.indices)
        due = self._bouts.update(shares > most, (shares > most) | (shares < WELL * most))
        return [self._finding(sight, place, float(shares[place]), most) for place in due.tolist()]

    def _finding(self, sight: Sight, place: int, share: float, most: float) -> Finding:
        row = self._places.rows[place]
        message = (
            f"saturated activations in {layer(row)}: {percent(share)} of its values lie at the ends of its "
            f"range, for {self._thresholds.steps} watched steps up to step {sight.frame.step:,}"
        )
        return Finding(layer=row.layer, variable=row.variable, value=share, threshold=most, message=message)


def _inner_activations(plan: Plan) -> list[int]:
    """What comes before the last layer that has weights, as far as they are watched."""
    activations = [index for index, row in enumerate(plan.rows) if row.role == "activation"]
    of_weights = {row.layer for row in plan.rows if row.role in ("weight", "weight_gradient")}
    if not of_weights:
        return activations[:-1]
    last = max((index for index in activations if plan.rows[index].layer in of_weights), default=-1)
    return [index for index in activations if index < last]
