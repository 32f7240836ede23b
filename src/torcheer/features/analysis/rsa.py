"""How alike samples are to a layer that lies on the disk, however wide: representational similarity."""

from __future__ import annotations

from typing import Final, get_args

import numpy
from numpy.typing import ArrayLike

from torcheer.errors import InputError
from torcheer.features.analysis.pairs import RawBlock, pairs_of_blocks, place, products, squared_distances
from torcheer.features.analysis.rows import (
    MEMORY_BYTES,
    Indices,
    Rows,
    Source,
    as_size,
    check_memory,
    source_of,
)
from torcheer.features.analysis.samples import Samples, chosen_samples
from torcheer.netview.analysis.points import Matrix, labels_of
from torcheer.netview.analysis.similarities import Metric, SimilarityMatrix

_METRICS: Final = get_args(Metric)
_SHARE: Final = 3  # of the matrix: it, one part of it, and what is read meanwhile


def rsa(
    rows: Rows,
    labels: ArrayLike | None = None,
    *,
    metric: Metric = "correlation",
    samples: Samples = None,
    memory_bytes: int = MEMORY_BYTES,
) -> SimilarityMatrix:
    """How alike every sample is to every other, as `similarity` of `netview.analysis` says it of arrays.

    - `labels`: one for each sample of the layer. Rows and columns are then sorted by it.
    - `metric`: `"correlation"` and `"cosine"` give 1 for samples alike in all but size, and NaN for one that
      has none; `"euclidean"` gives the distance.
    - `samples`: all unless told otherwise; a number takes that many, evenly spaced, and with labels as many
      of each as it goes; or their indices. `order` of the result holds indices of the layer.

    The matrix must fit in `memory_bytes` three times. What is left of it holds samples while the others are
    read: where the layer is q times as large as that, the disk is read about (q + 1) / 2 times over.
    """
    check_memory(memory_bytes)
    if metric not in _METRICS:
        raise InputError(f"there is no metric {metric!r}: take {', '.join(map(repr, _METRICS))}.")
    named = None if labels is None else labels_of(labels, len(rows))
    chosen = chosen_samples(len(rows), samples, named)
    if named is None:
        values = similarity_values(rows, chosen, metric=metric, memory_bytes=memory_bytes)
        return SimilarityMatrix(values=values, metric=metric, order=chosen, labels=None)
    sort = numpy.argsort(named[chosen], kind="stable")
    values = similarity_values(rows, chosen, metric=metric, memory_bytes=memory_bytes)
    return SimilarityMatrix(
        values=values[numpy.ix_(sort, sort)], metric=metric, order=chosen[sort], labels=named[chosen[sort]]
    )


def similarity_values(rows: Rows, chosen: Indices, *, metric: Metric, memory_bytes: int) -> Matrix:
    """Of the chosen samples, in their order."""
    check_matrix_fits(len(chosen), memory_bytes)
    source = source_of(rows, chosen, memory_bytes=memory_bytes)
    left = memory_bytes - (_SHARE - 1) * 8 * len(chosen) ** 2
    if metric == "euclidean":
        values = squared_distances(source, left)
        return numpy.sqrt(values, out=values)
    return _cosines(source, left, is_centred=metric == "correlation")


def check_matrix_fits(num_samples: int, memory_bytes: int) -> None:
    needed = _SHARE * 8 * num_samples**2
    if needed > memory_bytes:
        most = int((memory_bytes / (_SHARE * 8)) ** 0.5)
        raise InputError(
            f"a matrix of {num_samples:,} by {num_samples:,} samples needs {as_size(needed)}, and "
            f"{as_size(memory_bytes)} may be used: take fewer samples (samples={most}), or allow more "
            f"(memory_bytes={needed})."
        )


def _cosines(source: Source, memory_bytes: int, *, is_centred: bool) -> Matrix:
    values = numpy.empty((source.num_samples, source.num_samples))
    means = numpy.zeros(source.num_samples)
    is_flat = numpy.zeros(source.num_samples, bool)

    def centred(block: RawBlock, _: slice, chunk: Matrix) -> Matrix:
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
