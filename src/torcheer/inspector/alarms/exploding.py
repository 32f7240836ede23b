"""Gradients that are suddenly far larger than they ever usually were, or too large whatever is usual."""

from __future__ import annotations

from typing import Final

import numpy

from torcheer.inspector.alarms.bouts import Bouts
from torcheer.inspector.alarms.gradients import gradient_places
from torcheer.inspector.alarms.sight import Finding, Indices, Marks, Sight
from torcheer.inspector.alarms.words import number, parameter, times
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan
from torcheer.inspector.thresholds import Thresholds

_WINDOW: Final = 64  # norms that say what is usual
_FEWEST: Final = 10  # before that nothing is usual
_LATEST: Final = 8  # norms that do not count yet: growth over some steps would hide itself
_ABOVE: Final = 3.0  # times the highest of the window, and the highest that was ever usual
_OFTEN: Final = 8  # steps between two looks at what is usual


class ExplodingGradient:
    """Remembers the last norms of each gradient, and the highest that was ever usual.

    A norm far above what is usual now need not be an explosion: where a model has learned all, a single hard
    example is. So it must be above what was usual before that, too.
    """

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._places = places = gradient_places(plan)
        self._norms = numpy.full((len(places), _WINDOW + _LATEST), numpy.nan)  # the latest comes last
        self._highest = numpy.zeros(len(places))
        self._bouts = Bouts(len(places), 1, thresholds.well_steps)
        self._num_looks = 0

    def renewed(self, plan: Plan) -> ExplodingGradient:
        new = ExplodingGradient(plan, self._thresholds)
        pairs = [(new._norms, self._norms), (new._highest, self._highest)]
        new._places.carry(self._places, [*pairs, *new._bouts.pairs_with(self._bouts)])
        new._num_looks = self._num_looks
        return new

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def look(self, sight: Sight) -> list[Finding]:
        if not len(self._places):
            return []
        norms = sight.column("norm", self._places.indices)
        is_known = numpy.isfinite(norms)
        usual, is_bad = self._judge(norms)
        due = self._bouts.update(is_bad, is_known)
        self._remember(norms, is_known)
        due = due[numpy.argsort(-norms[due] / numpy.maximum(usual[due], 1e-30), kind="stable")]
        return [self._finding(sight, place, norms[place], usual[place]) for place in due.tolist()]

    def _judge(
        self, norms: numpy.typing.NDArray[numpy.float64]
    ) -> tuple[numpy.typing.NDArray[numpy.float64], Marks]:
        usual = numpy.full(len(norms), numpy.nan)
        is_bad = numpy.zeros(len(norms), dtype=numpy.bool_)
        if self._thresholds.exploding_gradient is not None:
            past = self._norms[:, :_WINDOW]
            highest = numpy.fmax.reduce(past, axis=1)
            above: Indices = numpy.flatnonzero(norms > _ABOVE * numpy.fmax(highest, self._highest))
            if len(above):
                usual[above] = self._usual(above)
                is_bad |= norms > self._thresholds.exploding_gradient * usual
        if self._thresholds.gradient_norm is not None:
            is_bad |= norms > self._thresholds.gradient_norm
        return usual, is_bad

    def _usual(self, places: Indices) -> numpy.typing.NDArray[numpy.float64]:
        """The median of each window; NaN where there is too little."""
        past = numpy.sort(self._norms[places, :_WINDOW], axis=1)  # NaN comes last
        count = (~numpy.isnan(past)).sum(axis=1)
        median = past[numpy.arange(len(places)), numpy.maximum(count - 1, 0) // 2]
        return numpy.where((count >= _FEWEST) & (median > 0), median, numpy.nan)

    def _remember(self, norms: numpy.typing.NDArray[numpy.float64], is_known: Marks) -> None:
        known = numpy.flatnonzero(is_known)
        self._norms[known, :-1] = self._norms[known, 1:]
        self._norms[known, -1] = norms[known]
        self._num_looks += 1
        if self._num_looks % _OFTEN == 0:
            usual = self._usual(numpy.arange(len(norms), dtype=numpy.intp))
            self._highest = numpy.fmax(self._highest, usual)

    def _finding(self, sight: Sight, place: int, norm: float, usual: float) -> Finding:
        row = self._places.rows[place]
        message = f"exploding gradient in {parameter(row)}: norm {number(norm)} at step {sight.frame.step:,}"
        factor, largest = self._thresholds.exploding_gradient, self._thresholds.gradient_norm
        if factor is not None and norm > factor * usual:
            message += f", {times(norm / usual)} its usual {number(usual)}"
            limit = factor * usual
        else:
            assert largest is not None  # or it would not be bad
            limit = largest
            message += f", above {number(limit)}"
        return Finding(layer=row.layer, variable=row.variable, value=norm, threshold=limit, message=message)
