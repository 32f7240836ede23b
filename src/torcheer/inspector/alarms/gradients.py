"""Gradients that are suddenly far larger than they usually are, or too large whatever is usual."""

from __future__ import annotations

from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.common import (
    Bouts,
    Finding,
    FrameFigures,
    Kind,
    counted,
    number,
    parameter,
    times,
)
from torcheer.inspector.frame_format import Plan
from torcheer.inspector.protocol import Thresholds

_WINDOW: Final = 64  # norms that say what is usual
_FEWEST: Final = 10  # before that nothing is usual
_LATEST: Final = 8  # norms that do not count yet: growth over some steps would hide itself
_OFTEN: Final = 8  # steps between two looks at the highest that was ever usual
_ABOVE: Final = 3.0  # times the highest of the window, and the highest that was ever usual
_NEARLY: Final = 0.1  # of the largest

_Floats = NDArray[numpy.float64]


class ExplodingGradient(Kind):
    """Remembers the last norms, of each gradient and of all together, and the highest that was ever usual.

    All together is what counts: where a model begins to learn, the gradient of a single layer may grow by
    far more than that, and nothing explodes. And where a model has learned all, a single hard example is
    far above what is usual by then; so it must be above what was usual before that, too.
    """

    remembered = ("_totals", "_highest", "_num_looks", "_bout")
    of_places = ("_norms",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, _gradients(plan))
        self._norms = numpy.full((len(self._places), _WINDOW + _LATEST), numpy.nan)  # the latest comes last
        self._totals = numpy.full(_WINDOW + _LATEST, numpy.nan)
        self._highest = 0.0
        self._num_looks = 0
        self._bout = Bouts(1, 1, thresholds.well_steps)

    def look(self, sight: FrameFigures) -> list[Finding]:
        norms = sight.column("norm", self._places.indices)
        total = float(numpy.sqrt(numpy.nansum(norms**2)))
        if not total > 0:
            return []
        self._num_looks += 1
        if self._num_looks % _OFTEN == 0:
            self._highest = max(self._highest, _median(self._totals[:_WINDOW]))  # with NaN it stays
        is_due = len(self._bout.update(numpy.array([self._is_bad(total)]), numpy.array([True])))
        findings = [self._finding(sight, norms)] if is_due else []
        self._norms[:, :-1], self._norms[:, -1] = self._norms[:, 1:], norms
        self._totals[:-1], self._totals[-1] = self._totals[1:], total
        return findings

    def _is_bad(self, total: float) -> bool:
        factor, largest = self._thresholds.exploding_gradient, self._thresholds.gradient_norm
        if largest is not None and total > largest:
            return True
        past = self._totals[:_WINDOW]
        is_above = total > _ABOVE * max(self._highest, float(numpy.fmax.reduce(past)))
        return factor is not None and is_above and total > factor * _median(past)

    def _finding(self, sight: FrameFigures, norms: _Floats) -> Finding:
        """Names the largest."""
        place = int(numpy.nanargmax(norms))
        row, norm = self._places.rows[place], float(norms[place])
        usual = _median(self._norms[place, :_WINDOW])
        message = f"exploding gradient in {parameter(row)}: norm {number(norm)} at step {sight.frame.step:,}"
        if usual > 0:
            message += f", {times(norm / usual)} its usual {number(usual)}"
        num_others = int((norms >= _NEARLY * norm).sum()) - 1
        if num_others > 0:
            message += f"; {counted(num_others, 'other gradient')} as large as this, or nearly"
        factor, largest = self._thresholds.exploding_gradient, self._thresholds.gradient_norm
        limit = factor * usual if factor is not None and norm > factor * usual else largest
        return Finding(row.layer, row.variable, norm, limit, message)


def _median(values: _Floats) -> float:
    """NaN where there are too few that anything would be usual."""
    known = values[~numpy.isnan(values)]
    return float(numpy.median(known)) if len(known) >= _FEWEST else float("nan")


# --- vanishing gradients --------------------------------------------------------------------------------


_FEWEST_LAYERS: Final = 3  # of two layers, nobody can say which is the odd one
_WELL_FACTOR: Final = 3.0  # times the limit: between the two it is neither bad nor well


class VanishingGradient(Kind):
    """Compares the first layers of a model with the layer whose gradient is largest, at the same step.

    Where all has been learned, all gradients are small, and where a layer further on has a small one (that
    of an attention that looks everywhere alike), nothing is lost. Weights of one dimension do not count: a
    bias before a normalisation has no gradient to speak of. Nor does exactly 0, which is another alarm.
    """

    remembered = ("_bout",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, _gradients(plan))
        self._bout = Bouts(1, thresholds.steps, thresholds.well_steps)

    def look(self, sight: FrameFigures) -> list[Finding]:
        factor = self._thresholds.vanishing_gradient
        if len(self._places) < _FEWEST_LAYERS or factor is None:
            return []
        indices = self._places.indices
        norms = sight.column("norm", indices)
        is_counted = (norms > 0) & (sight.frame.rows["num_dims"][indices] > 1) & sight.is_finite(indices)
        counting = numpy.flatnonzero(is_counted)
        if len(counting) < _FEWEST_LAYERS:
            return []
        first, largest = int(counting[0]), int(counting[numpy.argmax(norms[counting])])
        limit = factor * float(norms[largest])
        is_bad = norms[first] < limit
        is_known = is_bad or norms[first] > _WELL_FACTOR * limit
        if not len(self._bout.update(numpy.array([is_bad]), numpy.array([is_known]))):
            return []
        num_like_it = int(numpy.argmax(norms[counting] >= limit))
        return [self._finding(sight, (first, largest), norms[[first, largest]].tolist(), num_like_it - 1)]

    def _finding(
        self, sight: FrameFigures, places: tuple[int, int], norms: list[float], num_more: int
    ) -> Finding:
        row, other = (self._places.rows[place] for place in places)
        message = (
            f"vanishing gradient in {parameter(row)}: norm {number(norms[0])} at step {sight.frame.step:,}, "
            f"while it is {number(norms[1])} in {parameter(other)}"
        )
        if num_more:
            message += f"; no better in {counted(num_more, 'weight')} after it"
        limit = norms[1] * float(self._thresholds.vanishing_gradient or 0)
        return Finding(row.layer, row.variable, norms[0], limit, message)


def _gradients(plan: Plan) -> list[int]:
    """The gradients of weights where they are watched, else those of what layers give."""
    for role in ("weight_gradient", "gradient"):
        chosen = [index for index, row in enumerate(plan.rows) if row.role == role]
        if chosen:
            return chosen
    return []
