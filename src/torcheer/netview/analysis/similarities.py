"""How alike items are to a layer: matrices of items, sorted by label, and compared with one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError
from torcheer.netview.analysis.points import Array, Matrix, labels_of, points_of, products

Metric = Literal["correlation", "cosine", "euclidean"]

_METRICS: Final = get_args(Metric)
_NEAR: Final = 1e-6  # of squared lengths: nearer points are compared unit by unit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SimilarityMatrix:
    """How alike items are. Row i stands for item `order[i]`, which has the label `labels[i]`."""

    values: Matrix  # of Euclid: distances, 0 for the same; else 1 for the same. NaN where it is not defined
    metric: Metric
    order: NDArray[numpy.int64]
    labels: Array | None

    def __repr__(self) -> str:
        sorting = "" if self.labels is None else ", sorted by label"
        return f"<SimilarityMatrix of {len(self.order):,} items by {self.metric}{sorting}>"

    @property
    def distances(self) -> Matrix:
        """0 for the same, whatever the metric."""
        return self.values if self.metric == "euclidean" else 1.0 - self.values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelContrast:
    """Pairs of items with the same label against pairs with different ones. No item is paired with itself."""

    labels: Array  # each once
    means: Matrix  # of labels by labels: the mean over pairs; NaN where there is none
    within: float
    between: float
    contrast: float  # how much more alike items of the same label are: above 0 where labels group them


def similarity(
    points: ArrayLike, labels: ArrayLike | None = None, *, metric: Metric = "correlation"
) -> SimilarityMatrix:
    """Of every item with every other.

    - `points`: a row for each item, as `responses.layer(name)` gives it.
    - `labels`: one for each item. Rows and columns are then sorted by it; items of one label stay in their
      order.
    - `metric`: `"correlation"` and `"cosine"` give 1 for items alike in all but size, and NaN for an item
      that has none (no unit responds, or all do alike); `"euclidean"` gives the distance.
    """
    given = points_of(points, is_finite=True)
    if metric not in _METRICS:
        raise InputError(f"there is no metric {metric!r}: take {', '.join(map(repr, _METRICS))}.")
    values = (
        _distances(given) if metric == "euclidean" else _cosines(given, is_centred=metric == "correlation")
    )
    if labels is None:
        return SimilarityMatrix(values=values, metric=metric, order=numpy.arange(len(given)), labels=None)
    named = labels_of(labels, len(given))
    order = numpy.argsort(named, kind="stable")
    return SimilarityMatrix(
        values=values[numpy.ix_(order, order)], metric=metric, order=order, labels=named[order]
    )


def label_contrast(matrix: SimilarityMatrix) -> LabelContrast:
    """How much more alike items of the same label are than others."""
    if matrix.labels is None:
        raise InputError("this matrix has no labels: similarity(points, labels) makes one that has.")
    labels, number = numpy.unique(matrix.labels, return_inverse=True)
    has_label = (number[:, None] == numpy.arange(len(labels))).astype(numpy.float64)
    counts_pair = ~numpy.isnan(matrix.values)
    numpy.fill_diagonal(counts_pair, False)
    sums = has_label.T @ numpy.where(counts_pair, matrix.values, 0.0) @ has_label
    counts = has_label.T @ counts_pair @ has_label
    same = numpy.eye(len(labels), dtype=bool)
    with numpy.errstate(invalid="ignore"):
        within = float(sums[same].sum() / counts[same].sum())
        between = float(sums[~same].sum() / counts[~same].sum())
        means = sums / counts
    sign = -1.0 if matrix.metric == "euclidean" else 1.0
    return LabelContrast(
        labels=labels, means=means, within=within, between=between, contrast=sign * (within - between)
    )


def compare_similarity(
    first: SimilarityMatrix | ArrayLike,
    second: SimilarityMatrix | ArrayLike,
    *,
    method: Literal["spearman", "pearson"] = "spearman",
) -> float:
    """How alike two layers, or two models, see the same items: 1 where they order all pairs in the same way.

    The distances of all pairs of items are correlated, by their ranks unless told otherwise. The metrics may
    be different. Pairs for which one of them is not defined are left out. NaN where a matrix does not vary.
    A plain array is a matrix of distances, 0 for the same, with its rows in the order of the items.
    """
    if method not in ("spearman", "pearson"):
        raise InputError(f"there is no method {method!r}: take 'spearman' or 'pearson'.")
    one_by_item, other_by_item = _by_item(first), _by_item(second)
    if len(one_by_item) != len(other_by_item):
        raise InputError(
            f"matrices of {len(one_by_item):,} and {len(other_by_item):,} items cannot be compared: make "
            "both from the same items."
        )
    items = [numpy.sort(matrix.order) for matrix in (first, second) if isinstance(matrix, SimilarityMatrix)]
    if not all(numpy.array_equal(items[0], other) for other in items[1:]):
        raise InputError(
            "these matrices are of different items, so they cannot be compared: make both from the same ones "
            "(samples= and labels alike, or the indices of the samples)."
        )
    above = numpy.triu_indices(len(one_by_item), 1)
    pairs = [matrix[above] for matrix in (one_by_item, other_by_item)]
    is_there = ~numpy.isnan(pairs[0]) & ~numpy.isnan(pairs[1])
    one, other = (pair[is_there] for pair in pairs)
    if method == "spearman":
        one, other = ranks(one), ranks(other)
    return _correlation(one, other)


def ranks(values: ArrayLike) -> Matrix:
    """From 1; equal values share the mean of their ranks."""
    _, place, counts = numpy.unique(numpy.asarray(values), return_inverse=True, return_counts=True)
    last = numpy.cumsum(counts)
    return numpy.asarray((last - (counts - 1) / 2)[place], numpy.float64)


def _by_item(matrix: SimilarityMatrix | ArrayLike) -> Matrix:
    """Distances, in the order of the items."""
    if not isinstance(matrix, SimilarityMatrix):
        given = numpy.asarray(matrix)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or given.dtype.kind not in "fiu":
            raise InputError(
                f"an array of {given.dtype} with the shape {given.shape} is no matrix of distances: give "
                "items by items."
            )
        return given.astype(numpy.float64)
    back = numpy.argsort(matrix.order)
    return matrix.distances[numpy.ix_(back, back)]


def _correlation(one: Matrix, other: Matrix) -> float:
    if len(one) < 2:
        return float("nan")
    one, other = one - one.mean(), other - other.mean()
    size = float(numpy.linalg.norm(one) * numpy.linalg.norm(other))
    return float(numpy.clip(one @ other / size, -1.0, 1.0)) if size > 0 else float("nan")


def _cosines(points: Array, *, is_centred: bool) -> Matrix:
    centre = points.mean(axis=1, dtype=numpy.float64, keepdims=True) if is_centred else None
    values = products(points, centre)
    lengths = numpy.sqrt(numpy.diagonal(values))
    if is_centred:
        # What is left of a constant row is rounding.
        lengths = numpy.where(numpy.ptp(points, axis=1) == 0, 0.0, lengths)
    lengths = numpy.where(lengths > 0, lengths, numpy.nan)  # by zero, rounding would become infinite
    with numpy.errstate(invalid="ignore"):
        values = values / lengths[:, None] / lengths
    values = numpy.clip(values, -1.0, 1.0)
    numpy.fill_diagonal(values, numpy.where(lengths > 0, 1.0, numpy.nan))
    return values


def _distances(points: Array) -> Matrix:
    # Where units are silent, many items are the same, to the last digit.
    first: dict[bytes, int] = {}
    number = numpy.array([first.setdefault(row.tobytes(), len(first)) for row in points])
    _, places = numpy.unique(number, return_index=True)
    squares = _squared(points[places])
    return numpy.asarray(numpy.sqrt(squares)[numpy.ix_(number, number)])


def _squared(points: Array) -> Matrix:
    values = products(points, points.mean(axis=0, dtype=numpy.float64))
    lengths = numpy.diagonal(values)
    values = lengths[:, None] + lengths - 2 * values
    # The difference of large numbers says little about points that lie near one another.
    rows, columns = numpy.nonzero(numpy.triu(values < _NEAR * (lengths[:, None] + lengths), 1))
    for row in numpy.unique(rows):
        near = columns[rows == row]
        values[row, near] = values[near, row] = _squared_distances(points[row], points[near])
    numpy.fill_diagonal(values, 0.0)
    return numpy.maximum(values, 0.0)


def _squared_distances(point: Array, others: Array) -> Matrix:
    total = numpy.zeros(len(others))
    for start in range(0, len(others), 64):
        apart = others[start : start + 64].astype(numpy.float64) - point.astype(numpy.float64)
        total[start : start + 64] = numpy.einsum("ij,ij->i", apart, apart)
    return total
