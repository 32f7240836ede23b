"""How alike samples are to a layer: matrices of samples, sorted by label, compared, and clustered.

`similarity` takes an array, `rsa` a layer on the disk, however wide; both compute the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis.layer_samples import (
    MEMORY_BYTES,
    Array,
    Block,
    Indices,
    Matrix,
    Rows,
    Samples,
    Source,
    check_fits,
    check_memory,
    chosen_samples,
    gram,
    in_memory,
    labels_of,
    needed,
    pairs_of_blocks,
    place,
    points_of,
    products,
    shifted,
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
      that has none (no unit responds, or all do alike), with a warning; `"euclidean"` gives the distance.
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
      has none, with a warning; `"euclidean"` gives the distance.
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
    most = int((memory_bytes / (_SHARE * 8)) ** 0.5)
    what = f"a matrix of {num_samples:,} by {num_samples:,} samples needs"
    check_fits(what, _SHARE * 8 * num_samples**2, memory_bytes, f"take fewer samples (samples={most})")


def _check_metric(metric: str) -> None:
    if metric not in _METRICS:
        raise InputError(f"there is no metric {metric!r}: take {', '.join(map(repr, _METRICS))}.")


def _matrix(values: Matrix, metric: Metric, samples: Indices, labels: Array | None) -> SimilarityMatrix:
    undefined = samples[numpy.isnan(numpy.diagonal(values))]
    if len(undefined):
        warnings.warn(_undefined(metric, undefined, len(samples)), stacklevel=3)
    if labels is None:
        return SimilarityMatrix(values=values, metric=metric, order=samples, labels=None)
    sort = numpy.argsort(labels, kind="stable")
    return SimilarityMatrix(
        values=values[numpy.ix_(sort, sort)], metric=metric, order=samples[sort], labels=labels[sort]
    )


def _undefined(metric: str, items: Indices, num_all: int) -> str:
    what = "all its units are 0" if metric == "cosine" else "its units are all alike"
    return (
        f"the {metric} of item {items[0]} with others is not defined (NaN), since {what} ({len(items):,} of "
        f"{num_all:,} items): leave such items out, or take metric='euclidean'."
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
        raise InputError(_undefined(matrix.metric, undefined, len(distances)))
    if len(distances) == 1:
        return Clusters(tree=numpy.zeros((0, 4)), order=numpy.zeros(1, numpy.int64))
    tree = hierarchy.linkage(distances[numpy.triu_indices(len(distances), 1)], "average")
    return Clusters(tree=tree, order=hierarchy.leaves_list(tree).astype(numpy.int64))


# By RSA, which correlates the distances of all pairs of samples, or by centred kernel alignment. That is
# made of HSIC, which says how much two layers depend on one another: the sum of the products of their
# centred matrices of samples.


def cka(
    a: Rows,
    b: Rows,
    *,
    unbiased: bool = False,
    samples: Samples = None,
    memory_bytes: int = MEMORY_BYTES,
) -> float:
    """1 where both see the samples in the same way, up to rotation and size; 0 where they share nothing.

    - `unbiased`: leave out every sample's product with itself (Song et al. 2012). The plain CKA of Kornblith
      et al. (2019) comes out too high where units are many and samples few; this one may be below 0.

    The kernel is linear. CKA is computed from products of units (one pass over both layers) or of samples
    (see `rsa` for the passes), by what is smaller and fits in `memory_bytes`; the answer is the same. NaN
    where a layer does not vary.
    """
    check_memory(memory_bytes)
    if len(a) != len(b):
        raise InputError(
            f"layers of {len(a):,} and {len(b):,} samples cannot be compared: give the same samples of both."
        )
    chosen = chosen_samples(len(a), samples)
    check_enough(len(chosen), is_unbiased=unbiased)
    if _takes_units(a, b, len(chosen), memory_bytes):
        return _by_units(a, b, chosen, memory_bytes, is_unbiased=unbiased)
    vectors = (centred_products(rows, chosen, memory_bytes, is_unbiased=unbiased) for rows in (a, b))
    return _aligned(*vectors)


def centred_products(
    rows: Rows, chosen: Indices, memory_bytes: int, *, is_unbiased: bool, others_bytes: int = 0
) -> Matrix:
    """Samples by samples. `others_bytes`: of the memory, so much is taken already."""
    source = source_of(rows, chosen, memory_bytes=memory_bytes)
    left = max(memory_bytes - others_bytes - samples_bytes(len(chosen), 1), 1)
    return _centred(gram(shifted(source), left), is_unbiased=is_unbiased)


def samples_bytes(num_samples: int, num_layers: int) -> int:
    """What `num_layers` matrices of samples by samples need, and the work on one of them."""
    return 8 * num_samples**2 * (num_layers + 1)


def _aligned(one: Matrix, other: Matrix) -> float:
    return ratio(*(float(numpy.vdot(x, y)) for x, y in _three(one, other)))


def _takes_units(a: Rows, b: Rows, num_samples: int, memory_bytes: int) -> bool:
    by_samples = samples_bytes(num_samples, 2)
    one, other = (int(numpy.prod(rows.shape[1:], dtype=numpy.int64)) for rows in (a, b))
    # Blocks of both besides, and what is added to the largest.
    by_units = 8 * (one * one + other * other + one * other + 2 * max(one, other) ** 2) + 64 * (one + other)
    takes_units = by_units < by_samples
    check_fits(
        f"CKA of {num_samples:,} samples, by products of {'units' if takes_units else 'samples'}, needs",
        min(by_units, by_samples),
        memory_bytes,
        "take fewer samples (samples=…)",
    )
    return takes_units


def _by_units(a: Rows, b: Rows, chosen: Indices, memory_bytes: int, *, is_unbiased: bool) -> float:
    first, second = (shifted(source_of(rows, chosen, memory_bytes=memory_bytes // 2)) for rows in (a, b))
    pairs = [_CrossSums(*sizes) for sizes in _three(first.num_units, second.num_units)]
    step = min(first.rows_at_once(), second.rows_at_once())
    for one, other in zip(first.blocks(step), second.blocks(step), strict=True):
        for sums, values in zip(pairs, _three(one.values, other.values), strict=True):
            sums.add(*values)
    return ratio(*(sums.hsic(is_unbiased=is_unbiased) for sums in pairs))


def _three(first: Any, second: Any) -> list[tuple[Any, Any]]:
    """Both together, and each with itself."""
    return [(first, second), (first, first), (second, second)]


def _centred(kernel: Matrix, *, is_unbiased: bool) -> Matrix:
    """In place: such that the sum of the products of two of them is their HSIC, up to a factor.

    The unbiased one is that of Song et al. (2012), which leaves out every sample's product with itself. In
    this form, its rows sum to 0 without the diagonal.
    """
    num = len(kernel)
    if not is_unbiased:
        means = kernel.mean(axis=0)
        kernel -= means[:, None]
        kernel -= means - means.mean()
        return kernel
    numpy.fill_diagonal(kernel, 0.0)
    sums = kernel.sum(axis=0) / (num - 2)
    kernel -= sums[:, None]
    kernel -= sums - sums.sum() / (num - 1)
    numpy.fill_diagonal(kernel, 0.0)
    return kernel


def check_enough(num_samples: int, *, is_unbiased: bool) -> None:
    least = 4 if is_unbiased else 2
    if num_samples < least:
        raise InputError(f"CKA of {num_samples} samples is not defined: give {least} at least.")


def ratio(both: float, first: float, second: float) -> float:
    """CKA. NaN where a layer does not vary, or where an estimate of its own HSIC is not above 0."""
    if not (first > 0 and second > 0):
        return float("nan")
    return both / float(numpy.sqrt(first) * numpy.sqrt(second))


class _CrossSums:
    """What linear HSIC of two layers needs, summed over samples: units by units, filled block by block."""

    def __init__(self, num_first: int, num_second: int) -> None:
        self.products = numpy.zeros((num_first, num_second))  # x yᵀ
        self.sums = numpy.zeros(num_first), numpy.zeros(num_second)  # x, and y
        self.weighted = numpy.zeros(num_first), numpy.zeros(num_second)  # x |y|², and y |x|²
        self.lengths = numpy.zeros(2)  # |x|², and |y|²
        self.joint = 0.0  # |x|² |y|²
        self.num = 0

    def add(self, x: Matrix, y: Matrix) -> None:
        of_x, of_y = numpy.einsum("ij,ij->i", x, x), numpy.einsum("ij,ij->i", y, y)
        self.products += x.T @ y
        for total, part in zip(self.sums, (x.sum(axis=0), y.sum(axis=0)), strict=True):
            total += part
        for total, part in zip(self.weighted, (of_y @ x, of_x @ y), strict=True):
            total += part
        self.lengths += of_x.sum(), of_y.sum()
        self.joint += float(of_x @ of_y)
        self.num += len(x)

    def hsic(self, *, is_unbiased: bool) -> float:
        """As the sum of the products of two `_centred` matrices."""
        x, y = self.sums
        if not is_unbiased:
            left = self.products - numpy.outer(x / self.num, y)
            return float(numpy.vdot(left, left))
        own = float(numpy.vdot(self.products, self.products)) - self.joint
        totals = (float(x @ x) - self.lengths[0]) * (float(y @ y) - self.lengths[1])
        rows = float(x @ self.products @ y - x @ self.weighted[0] - y @ self.weighted[1]) + self.joint
        return float(own + totals / ((self.num - 1) * (self.num - 2)) - 2 * rows / (self.num - 2))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerComparison:
    """Layers by layers: `values[i, j]` is about `names[i]` and `names[j]`."""

    names: tuple[str, ...]
    values: Matrix  # 1 on the diagonal, NaN for a layer that does not vary
    method: Literal["rsa", "cka"]
    num_samples: int


def compare_layers(
    layers: Mapping[str, Rows],
    *,
    method: Literal["rsa", "cka"] = "rsa",
    samples: Samples = None,
    metric: Metric = "correlation",
    second_order: Literal["spearman", "pearson"] = "spearman",
    unbiased: bool = False,
    memory_bytes: int = MEMORY_BYTES,
) -> LayerComparison:
    """Of every layer with every other.

    - `method`: `"rsa"` correlates the distances of all pairs of samples, by `metric` and `second_order`
      (pairs for which one of two layers has no distance are left out); `"cka"` takes `unbiased`, as
      `cka` does.
    - `samples`: as for `rsa`; the same of every layer.

    The matrix of a layer is computed once, and half of it is kept: all must fit in `memory_bytes`. Where
    they do not, CKA is computed for each pair of layers anew.
    """
    check_memory(memory_bytes)
    counts = {name: len(rows) for name, rows in layers.items()}
    if not counts:
        raise InputError("there are no layers to compare: give one at least.")
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name!r} has {count:,}" for name, count in counts.items())
        raise InputError(f"layers of different samples cannot be compared ({told}): give the same of each.")
    chosen = chosen_samples(next(iter(counts.values())), samples)
    if method == "rsa":
        values = _by_rsa(list(layers.values()), chosen, memory_bytes, metric, second_order)
    elif method == "cka":
        values = _by_cka(list(layers.values()), chosen, memory_bytes, is_unbiased=unbiased)
    else:
        raise InputError(f"there is no method {method!r}: take 'rsa' or 'cka'.")
    return LayerComparison(names=tuple(layers), values=values, method=method, num_samples=len(chosen))


def _by_rsa(
    layers: list[Rows], chosen: Indices, memory_bytes: int, metric: Metric, second_order: str
) -> Matrix:
    if second_order not in ("spearman", "pearson"):
        raise InputError(f"there is no second order {second_order!r}: take 'spearman' or 'pearson'.")
    num = len(chosen)
    check_matrix_fits(num, memory_bytes)
    kept = 4 * num * (num - 1) * len(layers)
    num_bytes = kept + 5 * 8 * num**2  # ranks need the pairs, sorted, and their places
    fewer = f"take fewer samples (samples={int(num * (memory_bytes / num_bytes) ** 0.5)}) or fewer layers"
    what = f"matrices of {num:,} samples for {len(layers):,} layers need"
    check_fits(what, num_bytes, memory_bytes, fewer)
    above = numpy.triu_indices(num, 1)
    vectors = []
    for rows in layers:
        left = max(memory_bytes - kept, 3 * 8 * num**2)
        values = similarity_values(rows, chosen, metric=metric, memory_bytes=left)
        vectors.append(values[above] if metric == "euclidean" else 1.0 - values[above])
    has_gaps = any(numpy.isnan(vector).any() for vector in vectors)
    if not has_gaps:  # in place of what they were made of
        for number, vector in enumerate(vectors):
            vectors[number] = standardised(vector, second_order)
    result = numpy.full((len(vectors), len(vectors)), numpy.nan)
    for i, one in enumerate(vectors):
        for j, other in enumerate(vectors[i:], i):
            pair = one, other
            if has_gaps:
                both = ~(numpy.isnan(one) | numpy.isnan(other))
                pair = standardised(one[both], second_order), standardised(other[both], second_order)
            result[i, j] = result[j, i] = correlation(*pair)
    return result


def _by_cka(layers: list[Rows], chosen: Indices, memory_bytes: int, *, is_unbiased: bool) -> Matrix:
    num = len(chosen)
    check_enough(num, is_unbiased=is_unbiased)
    kept = 4 * num * (num + 1) * len(layers)
    result = numpy.empty((len(layers), len(layers)))
    vectors = []
    if kept + samples_bytes(num, 2) <= memory_bytes:
        above = numpy.triu_indices(num, 1)
        for rows in layers:
            values = centred_products(rows, chosen, memory_bytes, is_unbiased=is_unbiased, others_bytes=kept)
            vectors.append(numpy.concatenate([values[above] * 2**0.5, numpy.diagonal(values)]))
    options: Any = {"unbiased": is_unbiased, "samples": chosen, "memory_bytes": memory_bytes}
    for i, one in enumerate(layers):
        for j, other in enumerate(layers[i:], i):
            found = _aligned(vectors[i], vectors[j]) if vectors else cka(one, other, **options)
            result[i, j] = result[j, i] = found
    return result
