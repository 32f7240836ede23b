"""Something in a training that a person should look at: what it is, where, and since when.

`Alarms` shows each frame and each number to all kinds of alarms, which say what is to be raised.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from statistics import median
from typing import ClassVar, Final, NamedTuple, Self

import numpy
from numpy.typing import NDArray

from torcheer.inspector.frame_format import COLUMN, Frame, FrameFlag, Plan, Role, Row, RowFlag
from torcheer.inspector.protocol import Numbers, Raised, Thresholds
from torcheer.run import is_loss

_Indices = NDArray[numpy.intp]
_Marks = NDArray[numpy.bool_]
_Floats = NDArray[numpy.float64]

_MOST_AT_ONCE: Final = 3  # of one kind at one step: of 40 layers that suffer alike, nobody reads 40 messages
# Of a limit: what lies between is neither bad nor well, and raises nothing again and again.
_WELL: Final = 0.9


class Finding(NamedTuple):
    """What a kind found: the row, or for a number its name, and what to say."""

    layer: str
    variable: str
    value: float | None
    threshold: float | None
    message: str


class FrameFigures(NamedTuple):
    """One frame, and the figures of its rows as [row][column]."""

    frame: Frame
    figures: NDArray[numpy.float32]

    def column(self, name: str, rows: _Indices) -> _Floats:
        values: _Floats = self.figures[rows, COLUMN[name]].astype(numpy.float64)
        return values

    def is_seen(self, rows: _Indices) -> _Marks:
        seen: _Marks = (self.frame.rows["flags"][rows] & RowFlag.SEEN) != 0
        return seen

    def is_sampled_whole(self, rows: _Indices) -> _Marks:
        heads = self.frame.rows[rows]
        whole: _Marks = heads["num_sampled"] >= heads["num_elements"]
        return whole

    def exact_norms(self, rows: _Indices) -> _Floats:
        """NaN where a row is not watched (-1), was not seen, or has an estimate or values not finite."""
        has_norm = (self.frame.rows["flags"][rows] & RowFlag.NORM) != 0
        is_known = (rows >= 0) & self.is_seen(rows) & self.is_finite(rows)
        is_exact = is_known & (has_norm | self.is_sampled_whole(rows))
        return numpy.where(is_exact, self.column("norm", rows), numpy.nan)

    def is_finite(self, rows: _Indices) -> _Marks:
        """Nothing in it is NaN or infinite, as far as it was seen."""
        finite: _Marks = ~(self.column("nan", rows) + self.column("inf", rows) > 0)
        return finite


class Bouts:
    """For each of some places: since how many steps it is bad or well, and whether that was said."""

    def __init__(self, count: int, steps: int, well_steps: int) -> None:
        self._steps, self._well_steps = steps, well_steps
        self.state = numpy.zeros((count, 3), dtype=numpy.int64)  # steps bad, steps well, is raised

    def update(self, is_bad: _Marks, is_known: _Marks) -> list[int]:
        """The places of which an alarm is due. What is not known now changes nothing."""
        num_bad, num_well, is_raised = self.state.T
        is_bad, is_well = is_bad & is_known, ~is_bad & is_known
        num_bad[:] = numpy.where(is_bad, num_bad + 1, numpy.where(is_well, 0, num_bad))
        num_well[:] = numpy.where(is_well, num_well + 1, numpy.where(is_bad, 0, num_well))
        is_raised[num_well >= self._well_steps] = 0
        is_due = is_bad & (is_raised == 0) & (num_bad >= self._steps)
        is_raised[is_due] = 1
        due: list[int] = numpy.flatnonzero(is_due).tolist()
        return due

    def is_due(self, is_bad: bool, is_known: bool = True) -> bool:
        """The same of a single place."""
        return bool(self.update(numpy.array([is_bad]), numpy.array([is_known])))


class Kind:
    """One kind of alarm, with what it remembers. It looks at some rows of a plan, at numbers, or at both."""

    remembered: ClassVar[tuple[str, ...]] = ()  # attributes that hold for any plan
    of_rows: ClassVar[tuple[str, ...]] = ()  # those with something for each of its rows: arrays, and bouts

    def __init__(self, plan: Plan, thresholds: Thresholds, chosen: Iterable[int] = ()) -> None:
        indices = list(chosen)
        self._thresholds = thresholds
        self._rows = [plan.rows[index] for index in indices]
        self._indices = _array(indices)

    def look(self, sight: FrameFigures) -> list[Finding]:
        return []

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def renewed(self, plan: Plan) -> Self:
        """The same for other rows; what it knows of rows that stay, it still knows."""
        new = type(self)(plan, self._thresholds)
        for name in self.remembered:
            setattr(new, name, getattr(self, name))
        before = {row.name: place for place, row in enumerate(self._rows)}
        pairs = [(place, before[row.name]) for place, row in enumerate(new._rows) if row.name in before]
        here, there = [place for place, _ in pairs], [place for _, place in pairs]
        for name in self.of_rows:
            ours, theirs = getattr(new, name), getattr(self, name)
            if isinstance(ours, Bouts):
                ours, theirs = ours.state, theirs.state
            ours[here] = theirs[there]
        return new


def _array(indices: Sequence[int]) -> _Indices:
    return numpy.array(indices, dtype=numpy.intp)


def _indices_of(plan: Plan, *roles: Role) -> list[int]:
    return [index for index, row in enumerate(plan.rows) if row.role in roles]


def _parameter(row: Row) -> str:
    """The parameter that a row is about: features.0.weight, also for its gradient."""
    return row.name.removesuffix(".Grad").removesuffix(".Delta")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# A step goes forward, then backward, then it changes the weights. What comes first is the cause. A weight
# that is not trained was there before all of them.
_STAGES: Final[dict[Role, int]] = {
    "tensor": 0,
    "activation": 0,
    "gradient": 1,
    "weight_gradient": 1,
    "state": 2,
    "update": 3,
    "weight": 4,
}
_BEFORE, _FORWARD, _BACKWARD = -1, 0, 1
_MOST_SKIPPED: Final = 3  # steps in a row that were skipped for their gradients, as loss scaling does


class Nonfinite(Kind):
    """Where NaN began: one alarm, however far it spreads, and no more of them until all is well."""

    remembered = ("_is_raised", "_num_well", "_num_skipped", "_numbers")

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, range(len(plan.rows)))
        self._causes = _in_order_of_a_step(plan)
        places = {row.name: index for index, row in enumerate(plan.rows)}
        self._updates = {  # by the row of the gradient
            index: places[f"{_parameter(plan.rows[index])}.Delta"]
            for index in _indices_of(plan, "weight_gradient")
            if f"{_parameter(plan.rows[index])}.Delta" in places
        }
        self._is_raised = False
        self._num_well = self._num_skipped = 0
        self._numbers: set[str] = set()  # that were not finite when last seen

    def look(self, sight: FrameFigures) -> list[Finding]:
        bad: list[int] = numpy.flatnonzero(~sight.is_finite(self._indices)).tolist()
        if not bad or self._is_mask(sight, bad):
            self._num_skipped = 0
            self._num_well += 1
            self._is_raised &= self._num_well < self._thresholds.well_steps
            return []
        self._num_well = 0
        cause = self._cause(set(bad))
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
            if math.isfinite(value):
                self._numbers.discard(name)
            elif is_loss(name) and name not in self._numbers:
                self._numbers.add(name)
                if not self._is_raised:  # else it follows from what was said
                    what = "NaN" if math.isnan(value) else "infinite"
                    message = f"{name} is {what} at step {numbers.step:,}"
                    findings.append(Finding("", name, None, None, message))
        return findings

    def _cause(self, bad: set[int]) -> int:
        """The first in the order of a step. A container comes after what it holds."""
        ordered = [index for index in self._causes if index in bad]
        forward = [index for index in ordered if _STAGES[self._rows[index].role] == _FORWARD]
        if ordered[0] in forward:
            layers = {self._rows[index].layer for index in forward if self._rows[index].role == "activation"}
            for index in forward:
                outer = self._rows[index].layer
                if not any(
                    inner != outer and f"{inner}.".startswith(outer and f"{outer}.") for inner in layers
                ):
                    return index
        return ordered[0]

    def _is_mask(self, sight: FrameFigures, bad: list[int]) -> bool:
        """Minus infinity in what layers give, which harms nothing: this is how positions are masked."""
        num_activations = sum(row.role == "activation" for row in self._rows)
        if len(bad) >= num_activations or any(self._rows[index].role != "activation" for index in bad):
            return False
        if (sight.column("nan", numpy.array(bad)) > 0).any():
            return False
        for index in bad:
            head = sight.frame.rows[index]
            sample = sight.frame.samples[index, : head["num_sampled"]]
            is_seen_whole = head["flags"] & RowFlag.NORM  # else the sample is all that is known
            if head["flags"] & RowFlag.POSITIVE_INF or (not is_seen_whole and (sample == numpy.inf).any()):
                return False
        return True

    def _was_skipped(self, sight: FrameFigures, bad: list[int], cause: int) -> bool:
        """Gradients alone are bad, and did not reach the weights: somebody looks after that already."""
        if _STAGES[self._rows[cause].role] != _BACKWARD:
            return False
        if any(_STAGES[self._rows[index].role] > _BACKWARD for index in bad):
            return False
        updates = [self._updates[index] for index in bad if index in self._updates]
        return bool(updates) and bool(sight.is_seen(_array(updates)).all())

    def _finding(self, sight: FrameFigures, index: int, num_others: int) -> Finding:
        row = self._rows[index]
        nan, inf = (float(sight.figures[index, COLUMN[name]]) for name in ("nan", "inf"))
        what = "NaN and infinite values" if nan and inf else ("NaN" if nan else "infinite values")
        message = f"{what} in {row.name} at step {sight.frame.step:,}: {100 * (nan + inf):.3g} % of it"
        if num_others:
            # Not that they came after it: a weight that somebody else spoiled is read at the end of the step.
            are = "is" if num_others == 1 else "are"
            message += f"; {_counted(num_others, 'other tensor')} {are} not finite in the same step"
        return Finding(row.layer, row.variable, nan + inf, 0.0, message)


def _in_order_of_a_step(plan: Plan) -> list[int]:
    """The rows as they come in a step: backward, the last layer is the first."""
    layers: dict[str, int] = {}
    for row in plan.rows:
        layers.setdefault(row.layer, len(layers))
    # Weights that no step changes have no update where others have one. Nobody knows without those.
    trained = {_parameter(plan.rows[index]) for index in _indices_of(plan, "weight_gradient", "update")}

    def place(index: int) -> tuple[int, int, bool]:
        row = plan.rows[index]
        if row.role == "weight" and trained and row.name not in trained:
            return _BEFORE, index, False
        stage = _STAGES[row.role]
        return stage, -layers[row.layer] if stage == _BACKWARD else index, row.role != "gradient"

    return sorted(range(len(plan.rows)), key=place)


# --- loss spikes ----------------------------------------------------------------------------------------

_WINDOW: Final = 64  # values, or norms, that say what is usual
_FEWEST_LOSSES: Final = 20  # before that nothing is usual
_NORMAL: Final = 1.4826  # from the median distance to the median, to the standard deviation of a normal
_ABOVE: Final = 3.0  # times as far out as the farthest of the window
_LEAST_RISE: Final = 0.5  # of the usual loss
_LEAST_LOST: Final = 0.1  # of all that was learned: ripples of a loss next to 0 harm nobody
_MOST_SERIES: Final = 1000


class LossSpike(Kind):
    """Remembers the last values of each loss."""

    remembered = ("_series",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds)
        self._series: dict[str, _Losses] = {}

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        findings = []
        for name, value in numbers.values.items():
            if not is_loss(name) or not math.isfinite(value):
                continue
            if name not in self._series and len(self._series) < _MOST_SERIES:
                self._series[name] = _Losses(self._thresholds)
            if name in self._series and (found := self._series[name].look(value)) is not None:
                usual, limit = found
                message = (
                    f"{name} spiked to {value:.3g} at step {numbers.step:,}, from {usual:.3g} before that"
                )
                findings.append(Finding("", name, value, limit, message))
        return findings


class _Losses:
    """The recent past of one loss.

    What is usual is a median, and so is how far values stray from it: neither minds a few that lie outside.
    Losses that are often far out, as those of single examples are, vary by factors rather than by amounts; so
    the same must hold for the logarithms, where all are positive; there, a fall is taken out first.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._factor = thresholds.loss_spike or math.inf
        self._values: deque[float] = deque(maxlen=_WINDOW)
        self._highest_usual = -math.inf
        self._bout = Bouts(1, 1, thresholds.well_steps)

    def look(self, value: float) -> tuple[float, float] | None:
        """What is usual, and the limit, where the value is a spike that was not told yet."""
        told = None
        if len(self._values) >= _FEWEST_LOSSES:
            usual = median(self._values)
            self._highest_usual = max(self._highest_usual, usual)
            limit = self._limit(usual)
            if self._bout.is_due(value > limit):
                told = usual, limit
        self._values.append(value)
        return told

    def _limit(self, usual: float) -> float:
        values = list(self._values)
        if not any(values):
            return math.inf  # of a loss that was always 0, nothing says what is much
        limit = usual + max(
            _far_above(values, usual, self._factor),
            _LEAST_RISE * abs(usual),
            _LEAST_LOST * (self._highest_usual - usual),
        )
        if min(values) <= 0:
            return limit
        logarithms = _without_fall([math.log(value) for value in values])
        middle = median(logarithms)
        by_factors = middle + _far_above(logarithms, middle, self._factor / 2)
        # Beyond that there is no such number.
        return max(limit, math.exp(by_factors)) if by_factors < 700 else math.inf


def _without_fall(values: list[float]) -> list[float]:
    """As they would be if all were at the level of the last ones: that a loss falls is no noise."""
    third = len(values) // 3
    slope = min(0.0, (median(values[-third:]) - median(values[:third])) / (len(values) - third))
    return [value + slope * (len(values) - 1 - place) for place, value in enumerate(values)]


def _far_above(values: list[float], usual: float, factor: float) -> float:
    """So far above the usual a value must lie."""
    spread = _NORMAL * median(abs(value - usual) for value in values)
    return max(factor * spread, _ABOVE * (max(values) - usual))


_FEWEST_VALUES: Final = 500  # of a unit, all 0: of a few examples, a unit that is alive may like none


class _Shares(Kind):
    """Looks at a share of each of its rows, which must not be above a limit for long."""

    of_rows = ("_bouts",)
    limit_name: ClassVar[str]
    words: ClassVar[str]  # with places for the layer, the share, and the number of steps
    _bouts: Bouts

    def look(self, sight: FrameFigures) -> list[Finding]:
        most: float = getattr(self._thresholds, self.limit_name) or 1.0
        shares = self._shares(sight)
        if shares is None:
            return []
        findings = []
        for place in self._bouts.update(shares > most, (shares > most) | (shares < _WELL * most)):
            row, share = self._rows[place], float(shares[place])
            name = row.layer or "the model"
            layer = f"{name} ({row.module})" if row.module else name
            words = self.words.format(layer=layer, share=f"{100 * share:.3g} %", steps=self._thresholds.steps)
            message = f"{words}, up to step {sight.frame.step:,}"
            findings.append(Finding(row.layer, row.variable, share, most, message))
        return findings

    def _shares(self, sight: FrameFigures) -> _Floats | None:
        """NaN where nothing is known; None for nothing at all."""
        raise NotImplementedError


class DeadUnits(_Shares):
    """Remembers since how many steps, and over how many values, each unit has been 0.

    Nothing reaches the weights any more of a unit that gives nothing but 0, whatever comes in.
    """

    remembered = ("_since",)
    limit_name = "dead_units"
    words = "dead units in {layer}: {share} of them have given nothing but 0 for {steps} watched steps"

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, [index for index, row in enumerate(plan.rows) if row.unit_bytes])
        self._bouts = Bouts(len(self._rows), 1, thresholds.well_steps)
        self._since: dict[str, _Floats] = {}  # by row: steps and values, of each unit

    def _shares(self, sight: FrameFigures) -> _Floats | None:
        if not self._rows or not sight.frame.flags & FrameFlag.UNITS:
            return None
        pairs = zip(self._rows, self._indices.tolist(), strict=True)
        return numpy.array([self._share(sight, row.name, index) for row, index in pairs])

    def _share(self, sight: FrameFigures, name: str, index: int) -> float:
        """The share of units that are dead by now; NaN where nothing was seen."""
        head, units = sight.frame.rows[index], sight.frame.units(index)
        if not len(units) or not head["flags"] & RowFlag.SEEN:
            return math.nan
        since = self._since.get(name)
        if since is None or since.shape[1] != len(units):
            since = self._since[name] = numpy.zeros((2, len(units)))
        since[0] += 1
        since[1] += float(head["num_elements"]) / len(units)
        since *= units == 0
        return float(((since[0] >= self._thresholds.steps) & (since[1] >= _FEWEST_VALUES)).mean())


class Saturated(_Shares):
    """Looks at layers inside the model. At its end, a model that is sure of itself gives its bounds."""

    limit_name = "saturated"
    words = (
        "saturated activations in {layer}: {share} of its values lie at the ends of its range, for {steps} "
        "watched steps"
    )

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        activations = _indices_of(plan, "activation")
        with_weights = {plan.rows[index].layer for index in _indices_of(plan, "weight", "weight_gradient")}
        last = activations[-1] if activations else 0
        if with_weights:  # what comes before the last layer that has weights, as far as they are watched
            last = max((index for index in activations if plan.rows[index].layer in with_weights), default=0)
        super().__init__(plan, thresholds, [index for index in activations if index < last])
        self._bouts = Bouts(len(self._rows), thresholds.steps, thresholds.well_steps)

    def _shares(self, sight: FrameFigures) -> _Floats:
        return sight.column("saturated", self._indices)


_FEWEST_NORMS: Final = 10  # before that nothing is usual
_LATEST: Final = 8  # norms that do not count yet: growth over some steps would hide itself
_OFTEN: Final = 8  # steps between two looks at the highest that was ever usual
_NEARLY: Final = 0.1  # of the largest
_FEWEST_LAYERS: Final = 3  # of two layers, nobody can say which is the odd one
_WELL_FACTOR: Final = 3.0  # times the limit: between the two it is neither bad nor well


class ExplodingGradient(Kind):
    """Remembers the last norms, of each gradient and of all together, and the highest that was ever usual.

    All together is what counts: where a model begins to learn, the gradient of a single layer may grow by
    far more than that, and nothing explodes. And where a model has learned all, a single hard example is
    far above what is usual by then; so it must be above what was usual before that, too.
    """

    remembered = ("_totals", "_highest", "_num_looks", "_bout")
    of_rows = ("_norms",)

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, _gradients(plan))
        self._norms = numpy.full((len(self._rows), _WINDOW + _LATEST), numpy.nan)  # the latest comes last
        self._totals = numpy.full(_WINDOW + _LATEST, numpy.nan)
        self._highest = 0.0
        self._num_looks = 0
        self._bout = Bouts(1, 1, thresholds.well_steps)

    def look(self, sight: FrameFigures) -> list[Finding]:
        norms = sight.column("norm", self._indices)
        total = float(numpy.sqrt(numpy.nansum(norms**2)))
        if not total > 0:
            return []
        self._num_looks += 1
        if self._num_looks % _OFTEN == 0:
            self._highest = max(self._highest, _usual(self._totals))  # with NaN it stays
        findings = [self._finding(sight, norms)] if self._bout.is_due(self._is_bad(total)) else []
        self._norms[:, :-1], self._norms[:, -1] = self._norms[:, 1:], norms
        self._totals[:-1], self._totals[-1] = self._totals[1:], total
        return findings

    def _is_bad(self, total: float) -> bool:
        factor, largest = self._thresholds.exploding_gradient, self._thresholds.gradient_norm
        if largest is not None and total > largest:
            return True
        highest = max(self._highest, float(numpy.fmax.reduce(self._totals[:_WINDOW])))
        return factor is not None and total > _ABOVE * highest and total > factor * _usual(self._totals)

    def _finding(self, sight: FrameFigures, norms: _Floats) -> Finding:
        """Names the largest."""
        place = int(numpy.nanargmax(norms))
        row, norm = self._rows[place], float(norms[place])
        usual = _usual(self._norms[place])
        message = f"exploding gradient in {_parameter(row)}: norm {norm:.3g} at step {sight.frame.step:,}"
        if usual > 0:
            message += f", {norm / usual:,.0f} times its usual {usual:.3g}"
        num_others = int((norms >= _NEARLY * norm).sum()) - 1
        if num_others > 0:
            message += f"; {_counted(num_others, 'other gradient')} as large as this, or nearly"
        factor, largest = self._thresholds.exploding_gradient, self._thresholds.gradient_norm
        limit = factor * usual if factor is not None and norm > factor * usual else largest
        return Finding(row.layer, row.variable, norm, limit, message)


def _usual(norms: _Floats) -> float:
    """NaN where there are too few that anything would be usual."""
    known = norms[:_WINDOW][~numpy.isnan(norms[:_WINDOW])]
    return float(numpy.median(known)) if len(known) >= _FEWEST_NORMS else math.nan


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
        norms = sight.column("norm", self._indices)
        num_dims = sight.frame.rows["num_dims"][self._indices]
        counting = numpy.flatnonzero((norms > 0) & (num_dims > 1) & sight.is_finite(self._indices))
        if len(counting) < _FEWEST_LAYERS:
            return []
        first, largest = int(counting[0]), int(counting[numpy.argmax(norms[counting])])
        limit = float(self._thresholds.vanishing_gradient or 0.0) * float(norms[largest])
        norm, is_bad = float(norms[first]), bool(norms[first] < limit)
        if not self._bout.is_due(is_bad, is_bad or norm > _WELL_FACTOR * limit):
            return []
        row, other = self._rows[first], self._rows[largest]
        message = (
            f"vanishing gradient in {_parameter(row)}: norm {norm:.3g} at step {sight.frame.step:,}, while "
            f"it is {norms[largest]:.3g} in {_parameter(other)}"
        )
        if num_more := int(numpy.argmax(norms[counting] >= limit)) - 1:
            message += f"; no better in {_counted(num_more, 'weight')} after it"
        return [Finding(row.layer, row.variable, norm, limit, message)]


def _gradients(plan: Plan) -> list[int]:
    """The gradients of weights where they are watched, else those of what layers give."""
    return _indices_of(plan, "weight_gradient") or _indices_of(plan, "gradient")


_ALL: Final = 10  # times as many steps where no weight moves: learning rates begin and end at 0
_AGAIN: Final = 5  # times as many steps for a weight that once had a gradient: it may have learned all
_SMALL: Final = 1e-3  # of the largest gradient: below that, nobody minds where an update is lost
_FADING: Final = 0.99  # what is left of the largest gradient after a step
_LEAST_CHANGE: Final = 1e-6  # of the weight: smaller updates are lost in rounding, as those of a small rate


class StuckWeight(Kind):
    """Counts for each weight the steps without a gradient, and those in which one changed nothing.

    Rows of gradients are those of weights that ask for one: a weight that is frozen has none. Nothing is
    concluded from a gradient that came before and is not there now: the layer may be left out for a while.
    """

    remembered = ("_num_all_unmoved", "_bout_of_all")
    of_rows = ("_num_without", "_num_unmoved", "_largest", "_bouts")

    def __init__(self, plan: Plan, thresholds: Thresholds) -> None:
        super().__init__(plan, thresholds, _indices_of(plan, "weight_gradient"))
        count = len(self._rows)
        acts = {plan.rows[index].layer: index for index in _indices_of(plan, "activation")}
        places = {row.name: index for index, row in enumerate(plan.rows)}
        names = [_parameter(row) for row in self._rows]
        self._acts = _array([acts.get(row.layer, -1) for row in self._rows])
        self._weights = _array([places.get(name, -1) for name in names])
        self._updates = _array([places.get(f"{name}.Delta", -1) for name in names])
        self._steps = thresholds.stuck_weight or 1
        self._before = numpy.full(count, numpy.nan)  # norms of the weights in the last frame
        self._num_without = numpy.zeros(count, dtype=numpy.int64)
        self._num_unmoved = numpy.zeros(count, dtype=numpy.int64)
        self._num_all_unmoved = 0
        self._largest = numpy.zeros(count)
        self._bouts = Bouts(count, 1, thresholds.well_steps)
        self._bout_of_all = Bouts(1, 1, thresholds.well_steps)

    def look(self, sight: FrameFigures) -> list[Finding]:
        if not self._rows:
            return []
        indices = self._indices
        is_there = sight.is_seen(indices)
        norms = numpy.where(is_there & sight.is_finite(indices), sight.column("norm", indices), numpy.nan)
        is_moved, is_same = self._count_unmoved(sight, norms)
        # A layer that is not called, such as one of many experts, is not to blame.
        is_called = (self._acts < 0) | sight.is_seen(self._acts)
        is_left_out = ~is_there & is_called & (self._largest == 0) & is_same & is_moved.any()
        has_gradient, is_without = norms > 0, (sight.exact_norms(indices) == 0) | is_left_out
        # Where none has a gradient any more, all has been learned; where none ever had one, it is odd.
        if has_gradient.any() or not self._largest.any():
            self._num_without[is_without] += 1
        self._num_without[has_gradient] = 0
        self._largest = numpy.fmax(_FADING * self._largest, norms)
        is_without = self._num_without >= numpy.where(self._largest > 0, _AGAIN, 1) * self._steps
        is_stuck = is_without | (self._num_unmoved >= self._steps)
        findings = []
        for place in self._bouts.update(is_stuck, is_there | is_left_out):
            why = "its gradient is 0" if is_there[place] else "it gets no gradient"
            if not is_without[place]:
                why = "it has a gradient, and stays the same"
            count = int(max(self._num_without[place], self._num_unmoved[place]))
            words = (
                f"{_parameter(self._rows[place])} does not move: {why}, for {_watched_steps(count, sight)}"
            )
            findings.append(self._finding(place, words))
        if self._bout_of_all.is_due(self._num_all_unmoved >= _ALL * self._steps, bool(is_there.any())):
            words = (
                f"no weight moves, from {_parameter(self._rows[0])} on: they have gradients, and stay the "
                f"same, for {_watched_steps(self._num_all_unmoved, sight)}. Is the learning rate 0, or does "
                "the optimizer have other parameters?"
            )
            findings.insert(0, self._finding(0, words))
        return findings

    def _count_unmoved(self, sight: FrameFigures, norms: _Floats) -> tuple[_Marks, _Marks]:
        """Which weights moved, and which stayed the same; neither where it is not known.

        The update says so, and the norm of the weight: somebody else may change it between two steps. The
        norm of a large weight is rounded, and does not prove that it stayed the same.
        """
        weights, updates = sight.exact_norms(self._weights), sight.exact_norms(self._updates)
        is_known = numpy.isfinite(weights) & numpy.isfinite(self._before)
        is_moved = (updates > 0) | (is_known & (weights != self._before))
        is_equal = (weights == self._before) & sight.is_sampled_whole(self._weights)
        is_same = ~is_moved & ((updates == 0) | is_equal)
        # Where updates are not watched, a norm says how much a weight changed at least.
        changes = numpy.where(numpy.isfinite(updates), updates, numpy.abs(weights - self._before))
        self._before = weights
        self._num_unmoved[is_moved] = 0
        is_odd = is_same & (norms > _SMALL * self._largest)
        if is_moved.any():
            self._num_all_unmoved = 0
            expected = _expected_changes(norms, changes, weights, is_moved)
            self._num_unmoved[is_odd & (expected > _LEAST_CHANGE)] += 1
        elif is_odd.any():
            self._num_all_unmoved += 1
        return is_moved, is_same

    def _finding(self, place: int, message: str) -> Finding:
        row = self._rows[place]
        return Finding(row.layer, row.variable.removesuffix(".Grad"), 0.0, None, message)


def _watched_steps(count: int, sight: FrameFigures) -> str:
    return f"{_counted(count, 'watched step')} up to step {sight.frame.step:,}"


def _expected_changes(gradients: _Floats, changes: _Floats, weights: _Floats, is_moved: _Marks) -> _Floats:
    """By how much of itself each weight should have changed, judged by those that moved; all are norms.

    Some optimizers change a weight by its gradient, and some make all changes alike. This is right for the
    first, and good enough for the others. Infinite where nothing says how much would be little.
    """
    rates = (changes / gradients)[is_moved]
    rates = rates[numpy.isfinite(rates)]
    rate = numpy.median(rates) if len(rates) else numpy.inf
    return numpy.where(weights > 0, rate * gradients / weights, numpy.inf)


# By the names that they have in a run, and what switches them off.
_KINDS: Final[dict[str, tuple[type[Kind], tuple[str, ...]]]] = {
    "nan": (Nonfinite, ("nonfinite",)),
    "exploding_gradient": (ExplodingGradient, ("exploding_gradient", "gradient_norm")),
    "vanishing_gradient": (VanishingGradient, ("vanishing_gradient",)),
    "dead_units": (DeadUnits, ("dead_units",)),
    "saturated": (Saturated, ("saturated",)),
    "loss_spike": (LossSpike, ("loss_spike",)),
    "stuck_weight": (StuckWeight, ("stuck_weight",)),
}
KINDS: Final = tuple(_KINDS)


class Alarms:
    """Looks at frames in their order. None for thresholds: nothing is ever raised."""

    def __init__(self, thresholds: Thresholds | None) -> None:
        self._thresholds = thresholds
        self._kinds: dict[str, Kind] = {}  # none before the first plan

    def renew(self, plan: Plan) -> None:
        """Go on with another plan: what was raised stays raised, what is usual stays usual."""
        if self._kinds or self._thresholds is None:
            self._kinds = {name: kind.renewed(plan) for name, kind in self._kinds.items()}
            return
        for name, (kind, switches) in _KINDS.items():
            if any(getattr(self._thresholds, switch) not in (None, False) for switch in switches):
                self._kinds[name] = kind(plan, self._thresholds)

    def look(self, frame: Frame, figures: NDArray[numpy.float32]) -> list[Raised]:
        """`figures` are those of this frame: [row][column]."""
        sight = FrameFigures(frame, figures)
        raised = []
        with numpy.errstate(all="ignore"):
            for name, kind in self._kinds.items():
                raised += _raised(name, kind.look(sight), frame.step, frame.time)
        return raised

    def look_at_numbers(self, numbers: Numbers) -> list[Raised]:
        raised = []
        for name, kind in self._kinds.items():
            raised += _raised(name, kind.look_at_numbers(numbers), numbers.step, numbers.time)
        return raised


def _raised(kind: str, findings: list[Finding], step: int, time: float) -> list[Raised]:
    told, rest = findings[:_MOST_AT_ONCE], len(findings) - _MOST_AT_ONCE
    if rest > 0:
        others = "1 other" if rest == 1 else f"{rest:,} others"
        told[-1] = told[-1]._replace(message=f"{told[-1].message} (and {others} at this step)")
    return [Raised(alarm=kind, step=step, time=time, **finding._asdict()) for finding in told]
