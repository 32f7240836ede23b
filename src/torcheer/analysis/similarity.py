"""How alike samples are to a layer: matrices of samples, sorted by label, compared, and clustered.

`similarity` takes an array, `rsa` a layer on the disk, however wide; both compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis.rows import (
    MEMORY_BYTES,
    Array,
    Block,
    Indices,
    Matrix,
    Rows,
    Samples,
    Source,
    as_size,
    check_memory,
    chosen_samples,
    in_memory,
    labels_of,
    needed,
    pairs_of_blocks,
    place,
    points_of,
    products,
    source_of,
    squared_distances,
)
from torcheer.errors import InputError

Metric = Literal["correlation", "cosine", "euclidean"]

_METRICS: Final = get_args(Metric)
_SHARE: Final = 3  # of the matrix: it, one part of it, and what is read meanwhile


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
    _check_metric(metric)
    named = None if labels is None else labels_of(labels, len(given))
    values = _values(in_memory(given), metric, MEMORY_BYTES)
    return _matrix(values, metric, numpy.arange(len(given)), named)


def rsa(
    rows: Rows,
    labels: ArrayLike | None = None,
    *,
    metric: Metric = "correlation",
    samples: Samples = None,
    memory_bytes: int = MEMORY_BYTES,
) -> SimilarityMatrix:
    """How alike every sample is to every other, as `similarity` says it of arrays.

    - `labels`: one for each sample of the layer. Rows and columns are then sorted by it.
    - `metric`: `"correlation"` and `"cosine"` give 1 for samples alike in all but size, and NaN for one that
      has none; `"euclidean"` gives the distance.
    - `samples`: all unless told otherwise; a number takes that many, evenly spaced, and with labels as many
      of each as it goes; or their indices. `order` of the result holds indices of the layer.

    The matrix must fit in `memory_bytes` three times. What is left of it holds samples while the others are
    read: where the layer is q times as large as that, the disk is read about (q + 1) / 2 times over.
    """
    check_memory(memory_bytes)
    _check_metric(metric)
    named = None if labels is None else labels_of(labels, len(rows))
    chosen = chosen_samples(len(rows), samples, named)
    values = similarity_values(rows, chosen, metric=metric, memory_bytes=memory_bytes)
    return _matrix(values, metric, chosen, None if named is None else named[chosen])


def similarity_values(rows: Rows, chosen: Indices, *, metric: Metric, memory_bytes: int) -> Matrix:
    """Of the chosen samples, in their order."""
    check_matrix_fits(len(chosen), memory_bytes)
    source = source_of(rows, chosen, memory_bytes=memory_bytes)
    left = memory_bytes - (_SHARE - 1) * 8 * len(chosen) ** 2
    return _values(source, metric, left)


def check_matrix_fits(num_samples: int, memory_bytes: int) -> None:
    needed = _SHARE * 8 * num_samples**2
    if needed > memory_bytes:
        most = int((memory_bytes / (_SHARE * 8)) ** 0.5)
        raise InputError(
            f"a matrix of {num_samples:,} by {num_samples:,} samples needs {as_size(needed)}, and "
            f"{as_size(memory_bytes)} may be used: take fewer samples (samples={most}), or allow more "
            f"(memory_bytes={needed})."
        )


def _check_metric(metric: str) -> None:
    if metric not in _METRICS:
        raise InputError(f"there is no metric {metric!r}: take {', '.join(map(repr, _METRICS))}.")


def _matrix(values: Matrix, metric: Metric, samples: Indices, labels: Array | None) -> SimilarityMatrix:
    if labels is None:
        return SimilarityMatrix(values=values, metric=metric, order=samples, labels=None)
    sort = numpy.argsort(labels, kind="stable")
    return SimilarityMatrix(
        values=values[numpy.ix_(sort, sort)], metric=metric, order=samples[sort], labels=labels[sort]
    )


def _values(source: Source, metric: Metric, memory_bytes: int) -> Matrix:
    if metric == "euclidean":
        values = squared_distances(source, memory_bytes)
        return numpy.sqrt(values, out=values)
    return _cosines(source, memory_bytes, is_centred=metric == "correlation")


def _cosines(source: Source, memory_bytes: int, *, is_centred: bool) -> Matrix:
    values = numpy.empty((source.num_samples, source.num_samples))
    means = numpy.zeros(source.num_samples)
    is_flat = numpy.zeros(source.num_samples, bool)

    def centred(block: Block, _: slice, chunk: Matrix) -> Matrix:
        return chunk - means[block.at, None] if is_centred else chunk

    for left, right in pairs_of_blocks(source, memory_bytes):
        for block in (left, right) if is_centred else ():
            means[block.at] = block.values.mean(axis=1, dtype=numpy.float64)
            # What is left of a constant row is rounding.
            is_flat[block.at] = block.values.max(axis=1) == block.values.min(axis=1)
        place(values, left, right, products(left, right, centred))
    lengths = numpy.sqrt(numpy.diagonal(values))
    lengths[is_flat] = numpy.nan
    lengths[lengths == 0] = numpy.nan
    for row, length in zip(values, lengths, strict=True):
        row /= length * lengths  # one product: the matrix stays symmetric to the last digit
    numpy.clip(values, -1.0, 1.0, out=values)
    numpy.fill_diagonal(values, numpy.where(numpy.isnan(lengths), numpy.nan, 1.0))
    return values


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
    return correlation(standardised(one, method), standardised(other, method))


def ranks(values: ArrayLike) -> Matrix:
    """From 1; equal values share the mean of their ranks."""
    _, place, counts = numpy.unique(numpy.asarray(values), return_inverse=True, return_counts=True)
    last = numpy.cumsum(counts)
    return numpy.asarray((last - (counts - 1) / 2)[place], numpy.float64)


def standardised(values: Matrix, method: str) -> Matrix:
    """Of mean 0 and length 1; nothing but NaN where the values do not vary."""
    values = ranks(values) if method == "spearman" else values
    apart = values - values.mean() if len(values) else values
    length = float(numpy.linalg.norm(apart))
    return apart / length if length > 0 else numpy.full(len(values), numpy.nan)


def correlation(one: Matrix, other: Matrix) -> float:
    """Of two that are standardised."""
    return float(numpy.clip(one @ other, -1.0, 1.0)) if len(one) > 1 else float("nan")


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """A tree of items.

    Row i of `tree` makes cluster `num_items + i`: the numbers of the two that are joined, their distance, and
    how many items are then in it. Numbers below `num_items` are items. SciPy's dendrogram draws such an
    array, and its fcluster cuts it.
    """

    tree: Matrix
    order: NDArray[numpy.int64]  # items as they stand below the tree, so that no branches cross

    @property
    def num_items(self) -> int:
        return len(self.order)


def clusters(points: ArrayLike | SimilarityMatrix, *, metric: Metric = "correlation") -> Clusters:
    """Of a row for each item, or of a matrix that `similarity` made.

    Needs SciPy: `pip install 'torcheer[analysis]'`.
    """
    hierarchy = needed("scipy.cluster.hierarchy", "a tree of clusters")
    matrix = points if isinstance(points, SimilarityMatrix) else similarity(points, metric=metric)
    distances = _by_item(matrix)
    undefined = numpy.flatnonzero(numpy.isnan(numpy.diagonal(distances)))
    if len(undefined):
        raise InputError(
            f"the {matrix.metric} of item {undefined[0]} with others is not defined, since its units are all "
            f"alike ({len(undefined)} of {len(distances):,} items): leave such items out, or take "
            "metric='euclidean'."
        )
    if len(distances) == 1:
        return Clusters(tree=numpy.zeros((0, 4)), order=numpy.zeros(1, numpy.int64))
    tree = hierarchy.linkage(distances[numpy.triu_indices(len(distances), 1)], "average")
    return Clusters(tree=tree, order=hierarchy.leaves_list(tree).astype(numpy.int64))
