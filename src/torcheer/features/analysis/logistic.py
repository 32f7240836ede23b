"""Logistic regression for all folds at once: each evaluation is one pass over the samples.

The objective is that of scikit-learn with C = 1 / alpha: the sum of all losses, and alpha / 2 times the
squared weights; the intercept is free. Two classes have one column of weights, more have one each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy

from torcheer.features.analysis.folds import Mask
from torcheer.features.analysis.lbfgs import KEPT, Found, Minimum, minimizing
from torcheer.features.analysis.moments import Moments, moments
from torcheer.features.analysis.progress import Told, silent
from torcheer.features.analysis.rows import Indices, Source
from torcheer.netview.analysis.points import Array, Matrix

_TURNED: Final = 1024  # units, of which the products are looked at to make steps go straight
_EXACT: Final = 1e-6  # of the weights
_SURE: Final = 0.1
_ROUNDING: Final = 1e-12  # of the first slope


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """What one model learns from. Its weights are for units without `mean`, times `scale`."""

    train: Mask
    alpha: float
    mean: Matrix
    scale: Matrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """For samples as the source gives them: x @ weights + intercepts."""

    weights: Matrix  # units by columns
    intercepts: Matrix
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classified:
    """Samples, and the class of each."""

    source: Source
    codes: Indices
    num_classes: int

    @property
    def num_columns(self) -> int:
        return 1 if self.num_classes == 2 else self.num_classes


def fit_bytes(num_units: int, num_columns: int) -> int:
    """What one of the fits that run together keeps."""
    return 8 * (num_units + 1) * num_columns * (2 * KEPT + 8)


def fitted(data: Classified, fits: Sequence[Fit], *, standardize: bool, told: Told = silent) -> list[Weights]:
    """All together, from 0 on. `standardize`: the scale of the fits differs from unit to unit."""
    curve = _curvature(data, standardize=standardize)
    size = (data.source.num_units + 1) * data.num_columns
    far = _Distance(len(fits), told)
    runs = [
        minimizing(
            numpy.zeros(size),
            _preconditioner(data, fit, curve),
            _ending(fit.alpha, data.num_columns, far, place),
        )
        for place, fit in enumerate(fits)
    ]
    points = {place: next(run) for place, run in enumerate(runs)}
    ends: dict[int, Minimum] = {}
    while points:
        places = list(points)
        results = _evaluated(data, [fits[place] for place in places], [points[place] for place in places])
        for place, found in zip(places, results, strict=True):
            try:
                points[place] = runs[place].send(found)
            except StopIteration as end:
                ends[place] = end.value
                del points[place]
    return [_weights(data, fit, ends[place]) for place, fit in enumerate(fits)]


class _Distance:
    """How far the fits have come, by the digits of their weights that are right."""

    def __init__(self, count: int, told: Told) -> None:
        self._parts = numpy.zeros(count)
        self._told = told

    def tell(self, place: int, part: float) -> None:
        self._parts[place] = max(self._parts[place], part)
        self._told(float(self._parts.mean()))


def _ending(alpha: float, num_columns: int, far: _Distance, place: int) -> Callable[[Matrix, Matrix], bool]:
    first: list[float] = []

    def is_there(point: Matrix, slope: Matrix) -> bool:
        # The penalty bends by alpha at least: the weights are no farther from the best than slope / alpha.
        steep = float(numpy.linalg.norm(slope))
        first.append(steep)
        enough = _EXACT * alpha * max(1.0, float(numpy.linalg.norm(point[:-num_columns])))
        enough = max(enough, _ROUNDING * first[0])
        is_done = steep <= enough
        digits = numpy.log(max(first[0], enough) / enough)
        far.tell(place, 1.0 if is_done else float(numpy.log(max(first[0] / steep, 1.0)) / digits))
        return is_done

    return is_there


def _split(point: Matrix, num_columns: int) -> tuple[Matrix, Matrix]:
    return point[:-num_columns].reshape(-1, num_columns), point[-num_columns:]


def _weights(data: Classified, fit: Fit, end: Minimum) -> Weights:
    weights, intercepts = _split(end.point, data.num_columns)
    own = weights * fit.scale[:, None]
    intercepts = intercepts - fit.mean @ own
    # Of several, only the differences count.
    intercepts = intercepts if data.num_columns == 1 else intercepts - intercepts.mean()
    return Weights(weights=own, intercepts=intercepts, is_exact=end.is_exact)


def _evaluated(data: Classified, fits: list[Fit], points: list[Matrix]) -> list[Found]:
    columns = data.num_columns
    halves = [_split(point, columns) for point in points]
    own = numpy.concatenate(
        [half[0] * fit.scale[:, None] for half, fit in zip(halves, fits, strict=True)], axis=1
    )
    free = numpy.concatenate([half[1] for half in halves])
    free = free - numpy.concatenate(
        [fit.mean @ own[:, place * columns : (place + 1) * columns] for place, fit in enumerate(fits)]
    )
    losses = numpy.zeros(len(fits))
    sums = numpy.zeros(own.shape[1])
    slopes = numpy.zeros(own.shape)
    step = data.source.rows_at_once(extra_columns=3 * own.shape[1])
    for block in data.source.blocks(step):
        outputs = block.values @ own + free
        for place, fit in enumerate(fits):
            part = outputs[:, place * columns : (place + 1) * columns]
            train = fit.train[block.at]
            loss = losses_of(part, data.codes[block.at], keep_slopes=True)
            losses[place] += float(loss[train].sum())
            part[~train] = 0.0
        sums += outputs.sum(axis=0)
        slopes += block.values.T @ outputs
    found = []
    for place, (fit, (weights, _)) in enumerate(zip(fits, halves, strict=True)):
        at = slice(place * columns, (place + 1) * columns)
        slope = (slopes[:, at] - numpy.outer(fit.mean, sums[at])) * fit.scale[:, None] + fit.alpha * weights
        value = float(losses[place] + 0.5 * fit.alpha * numpy.vdot(weights, weights))
        found.append((value, numpy.concatenate([slope.ravel(), sums[at]])))
    return found


def losses_of(outputs: Matrix, codes: Indices, *, keep_slopes: bool = False) -> Matrix:
    """Of each sample. `keep_slopes`: overwrites the outputs with the slope of the loss in each."""
    rows = numpy.arange(len(codes))
    if outputs.shape[1] == 1:
        speaks = outputs[:, 0]
        small = numpy.exp(-numpy.abs(speaks))
        losses = numpy.maximum(speaks, 0.0) - codes * speaks + numpy.log1p(small)
        if keep_slopes:
            outputs[:, 0] = numpy.where(speaks >= 0, 1.0, small) / (1.0 + small) - codes
        return numpy.asarray(losses)
    highest = outputs.max(axis=1)
    shares = numpy.exp(outputs - highest[:, None])
    totals = shares.sum(axis=1)
    losses = numpy.log(totals) + highest - outputs[rows, codes]
    if keep_slopes:
        numpy.divide(shares, totals[:, None], out=outputs)
        outputs[rows, codes] -= 1.0
    return numpy.asarray(losses)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Curvature:
    """About how samples spread: along which directions, and how far, on average."""

    turned: Matrix | None  # None: along the units themselves
    squares: Matrix  # mean of each direction


def _curvature(data: Classified, *, standardize: bool) -> _Curvature:
    is_turned = data.source.num_units <= _TURNED
    everything = [numpy.ones(data.source.num_samples, bool)]
    (known,) = moments(data.source, everything, has_gram=is_turned)
    scale = known.scale(standardize=standardize)
    if known.gram is None:
        return _Curvature(turned=None, squares=numpy.square(known.deviation * scale))
    squares, turned = numpy.linalg.eigh(known.gram * scale * scale[:, None])
    return _Curvature(turned=turned, squares=numpy.maximum(squares, 0.0) / known.num)


def _preconditioner(data: Classified, fit: Fit, curve: _Curvature) -> Callable[[Matrix], Matrix]:
    counts = numpy.bincount(data.codes[fit.train], minlength=data.num_classes)
    num = int(counts.sum())
    shares = counts / num
    # How the loss bends where nothing but the intercept is known yet; less, as most samples soon are.
    bends = _SURE * num * (shares * (1.0 - shares))[data.num_classes - data.num_columns :]
    inverse = 1.0 / (curve.squares[:, None] * bends + fit.alpha)

    def precondition(slope: Matrix) -> Matrix:
        weights, intercepts = _split(slope, data.num_columns)
        if curve.turned is None:
            weights = weights * inverse
        else:
            weights = curve.turned @ ((curve.turned.T @ weights) * inverse)
        return numpy.concatenate([weights.ravel(), intercepts / bends])

    return precondition


def outputs_of(block: Array, found: Weights) -> Matrix:
    return numpy.asarray(block @ found.weights + found.intercepts)


def fits_of(
    known: Moments, trains: Sequence[Mask], alphas: Sequence[float], *, standardize: bool
) -> list[Fit]:
    """For each training set, one for each alpha; all with the same mean and scale."""
    scale = known.scale(standardize=standardize)
    return [
        Fit(train=train, alpha=float(alpha), mean=known.mean, scale=scale)
        for train in trains
        for alpha in alphas
    ]
