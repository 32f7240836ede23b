"""Units that give nothing but 0, whatever comes in: nothing reaches their weights any more."""

from __future__ import annotations

from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.common import WELL, Bouts, Finding, FrameFigures, Kind, layer, percent
from torcheer.inspector.frame_format import HAS_UNITS, IS_SEEN, Plan
from torcheer.inspector.protocol import Thresholds

_FEWEST_VALUES: Final = 500  # of a unit, all 0: of a few examples, a unit that is alive may like none


class DeadUnits(Kind):
    """Remembers since how many steps, and over how many values, each unit has been 0."""

    remembered = ("_since",)
    of_places = ("_bouts",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, [index for index, row in enumerate(plan.rows) if row.unit_bytes])
        self._bouts = Bouts(len(self._places), 1, thresholds.well_steps)
        self._since: dict[str, NDArray[numpy.float64]] = {}  # by row: steps and values, of each unit

    def look(self, sight: FrameFigures) -> list[Finding]:
        most = self._thresholds.dead_units
        if not len(self._places) or not sight.frame.flags & HAS_UNITS or most is None:
            return []
        shares = numpy.array(
            [
                self._share(sight, row.name, index)
                for row, index in zip(self._places.rows, self._places.indices.tolist(), strict=True)
            ]
        )
        due = self._bouts.update(shares > most, (shares > most) | (shares < WELL * most))
        return [self._finding(sight, place, float(shares[place]), most) for place in due.tolist()]

    def _share(self, sight: FrameFigures, name: str, index: int) -> float:
        """The share of units that are dead by now; NaN where nothing was seen."""
        head = sight.frame.rows[index]
        units = sight.frame.units(index)
        if not len(units) or not head["flags"] & IS_SEEN:
            return numpy.nan
        since = self._since.get(name)
        if since is None or since.shape[1] != len(units):
            since = self._since[name] = numpy.zeros((2, len(units)))
        since[0] += 1
        since[1] += float(head["num_elements"]) / len(units)
        since *= units == 0
        is_dead = (since[0] >= self._thresholds.steps) & (since[1] >= _FEWEST_VALUES)
        return float(is_dead.mean())

    def _finding(self, sight: FrameFigures, place: int, share: float, most: float) -> Finding:
        row = self._places.rows[place]
        message = (
            f"dead units in {layer(row)}: {percent(share)} of them have given nothing but 0 "
            f"for {self._thresholds.steps} watched steps, up to step {sight.frame.step:,}"
        )
        return Finding(row.layer, row.variable, share, most, message)


# --- saturated activations ------------------------------------------------------------------------------


class Saturated(Kind):
    """Looks at layers inside the model. At its end, a model that is sure of itself gives its bounds."""

    of_places = ("_bouts",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, _inner_activations(plan))
        self._bouts = Bouts(len(self._places), thresholds.steps, thresholds.well_steps)

    def look(self, sight: FrameFigures) -> list[Finding]:
        most = self._thresholds.saturated
        if not len(self._places) or most is None:
            return []
        shares = sight.column("saturated", self._places.indices)
        due = self._bouts.update(shares > most, (shares > most) | (shares < WELL * most))
        return [self._finding(sight, place, float(shares[place]), most) for place in due.tolist()]

    def _finding(self, sight: FrameFigures, place: int, share: float, most: float) -> Finding:
        row = self._places.rows[place]
        message = (
            f"saturated activations in {layer(row)}: {percent(share)} of its values lie at the ends of its "
            f"range, for {self._thresholds.steps} watched steps up to step {sight.frame.step:,}"
        )
        return Finding(row.layer, row.variable, share, most, message)


def _inner_activations(plan: Plan) -> list[int]:
    """What comes before the last layer that has weights, as far as they are watched."""
    activations = [index for index, row in enumerate(plan.rows) if row.role == "activation"]
    of_weights = {row.layer for row in plan.rows if row.role in ("weight", "weight_gradient")}
    if not of_weights:
        return activations[:-1]
    last = max((index for index in activations if plan.rows[index].layer in of_weights), default=-1)
    return [index for index in activations if index < last]
