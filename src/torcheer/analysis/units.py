"""What units do: tuning to labels, receptive fields, and the directions in which they vary together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis.layer_samples import (
    MEMORY_BYTES,
    Array,
    Matrix,
    gram,
    in_memory,
    labels_of,
    points_of,
)
from torcheer.errors import InputError
from torcheer.graph import readable_bytes

_ROUNDING: Final = 16 * float(numpy.finfo(numpy.float64).eps)  # of a mean, by the largest response
_MOST_BYTES: Final = 2 << 30  # of receptive fields
_USUAL: Final = 50
_SMALL: Final = 2 << 20  # numbers that are decomposed as they are
_CHUNK_NUMBERS: Final = 4 << 20  # that are turned into float64 at once


def _chunks(points: Array, mean: Matrix | float = 0.0) -> Iterator[tuple[slice, Matrix]]:
    """All items less the mean, some units at a time, so that a large layer needs no second copy of itself."""
    means = numpy.broadcast_to(mean, points.shape[1])
    step = max(1, _CHUNK_NUMBERS // len(points))
    for start in range(0, points.shape[1], step):
        units = slice(start, start + step)
        yield units, points[:, units].astype(numpy.float64) - means[units]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """A row for each unit, a column for each label.

    The best label is found in the same items by which it is then judged: with few items for each label,
    chance alone makes units look selective. Labels in a random order show how much.
    """

    labels: Array  # each once, sorted
    counts: NDArray[numpy.int64]  # items of each label
    means: Matrix  # the mean response
    d_primes: Matrix  # items of a label against all others: the difference of means, by their deviation

    @property
    def best(self) -> Array:
        """The label to which each unit responds most."""
        return numpy.asarray(self.labels[self._best_column])

    @property
    def selectivity(self) -> Matrix:
        """From 0, where the best label moves a unit as much as others do, to 1, where no other does.

        (best - others) / (|best| + |others|), with the mean response for the best label, and the mean of
        those for the others. NaN where both are 0. Meant for responses that are not negative; of others it
        may be 1 for a unit that merely changes its sign.
        """
        best = self.means.max(axis=1)
        others = (self.means.sum(axis=1) - best) / (len(self.labels) - 1)
        with numpy.errstate(invalid="ignore"):
            return numpy.asarray((best - others) / (numpy.abs(best) + numpy.abs(others)))

    @property
    def best_d_prime(self) -> Matrix:
        """d' of the best label of each unit."""
        return numpy.take_along_axis(self.d_primes, self._best_column[:, None], axis=1)[:, 0]

    @property
    def _best_column(self) -> NDArray[numpy.int64]:
        return numpy.asarray(self.means.argmax(axis=1))


def tuning(points: ArrayLike, labels: ArrayLike) -> Tuning:
    """Of a row for each item and a label for each.

    d' is (mean of the label's items - mean of all others) / sqrt((variance + variance of the others) / 2),
    with variances over items less one. NaN where a label, or all others together, has a single item; infinite
    where neither varies and the means differ.
    """
    given = points_of(points)
    named = labels_of(labels, len(given))
    found, number, counts = numpy.unique(named, return_inverse=True, return_counts=True)
    if len(found) < 2:
        raise InputError(f"all items have the label {found[0]!r}: tuning needs two labels at least.")
    num_units = given.shape[1]
    means, d_primes = numpy.zeros((num_units, len(found))), numpy.zeros((num_units, len(found)))
    for at, chunk in _chunks(given):
        means[at], d_primes[at] = _means_and_d_primes(chunk, number, counts)
    return Tuning(labels=found, counts=counts, means=means, d_primes=d_primes)


def _means_and_d_primes(
    responses: Matrix, number: NDArray[numpy.int64], counts: NDArray[numpy.int64]
) -> tuple[Matrix, Matrix]:
    """Units by labels. `number`: of the label of each item."""
    has_label = (number == numpy.arange(len(counts))[:, None]).astype(numpy.float64)
    sums = has_label @ responses
    means = sums / counts[:, None]
    squares = has_label @ numpy.square(responses - means[number])  # about the mean of the label
    rounding = _ROUNDING * numpy.abs(responses).max(axis=0)
    d_primes = numpy.zeros_like(means)
    for label, count in enumerate(counts):
        is_other = numpy.arange(len(counts)) != label
        num_others = len(number) - count
        mean = sums[is_other].sum(axis=0) / num_others
        spread = counts[is_other] @ numpy.square(means[is_other] - mean) + squares[is_other].sum(axis=0)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            variance = (squares[label] / (count - 1) + spread / (num_others - 1)) / 2
            deviation = numpy.sqrt(variance)
            # A constant response differs from its mean by rounding; that is no deviation.
            deviation = numpy.where(deviation <= rounding, 0.0, deviation)
            apart = means[label] - mean
            apart = numpy.where(numpy.abs(apart) <= rounding, 0.0, apart)
            d_primes[label] = apart / deviation
    return means.T, d_primes.T


def receptive_fields(
    points: ArrayLike,
    sources: ArrayLike,
    *,
    units: Sequence[int] | NDArray[numpy.integer] | None = None,
    threshold: float = 0.0,
    minus_mean: bool = False,
) -> Array:
    """The mean of the sources over items, each item counted by how much a unit responds to it.

    Returns units by the shape of a source.

    - `points`: responses, a row for each item, as `responses.layer(name)` gives them.
    - `sources`: a row for each of the same items, of any shape: `responses.inputs`, or
      `responses.maps(name)`.
    - `units`: which; all of them where it is left out.
    - `threshold`: a response counts by how far it is above it. Lower ones do not count.
    - `minus_mean`: the plain mean over all items is taken away, so that what is left is particular to the
      unit.

    NaN for a unit that never responds. This is what goes with a response, not what causes it: the weights of
    a unit, and `history.receptive_field` of a captured pass, say what can reach it.
    """
    given = points_of(points)
    shape = numpy.shape(sources)[1:]
    seen = points_of(sources, what="sources")
    if len(seen) != len(given):
        raise InputError(
            f"there are responses to {len(given):,} items and sources of {len(seen):,}: give those of the "
            "same items."
        )
    chosen = given
    if units is not None:
        numbers, num_units = numpy.asarray(units).reshape(-1), given.shape[1]
        if numbers.dtype.kind not in "iu" or not ((numbers >= 0) & (numbers < num_units)).all():
            raise InputError(f"units are whole numbers from 0 to {num_units - 1:,}: {units!r} are not.")
        chosen = given[:, numbers.astype(numpy.int64)]
    result_type = numpy.result_type(seen.dtype, numpy.float32)
    num_bytes = chosen.shape[1] * seen.shape[1] * result_type.itemsize
    if num_bytes > _MOST_BYTES:
        raise InputError(
            f"the fields of {chosen.shape[1]:,} units over {seen.shape[1]:,} others take "
            f"{readable_bytes(num_bytes)}: choose some with units=."
        )
    shares = numpy.maximum(chosen.astype(numpy.float64) - threshold, 0.0).T
    with numpy.errstate(invalid="ignore"):
        shares /= shares.sum(axis=1, keepdims=True)
    fields = numpy.empty((len(shares), seen.shape[1]), result_type)
    for at, chunk in _chunks(seen):
        fields[:, at] = shares @ (chunk - chunk.mean(axis=0) if minus_mean else chunk)
    return fields.reshape(len(shares), *shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Components:
    """The first directions, the one with the most variance first."""

    mean: Matrix  # of each unit
    axes: Matrix  # a row of units for each component, of length 1; its largest entry is positive
    variances: Matrix  # along each component, over items less one
    shares: Matrix  # of the variance of all units
    places: Matrix  # items by components: where each item lies


def principal_components(points: ArrayLike, num_components: int | None = None) -> Components:
    """Of a row for each item and a column for each unit.

    - `num_components`: 50 unless told otherwise. There are fewer where the items do not vary in more
      directions.
    """
    given = points_of(points, is_finite=True)
    if num_components is not None and num_components < 1:
        raise InputError(f"num_components is {num_components}: ask for one at least.")
    mean = given.mean(axis=0, dtype=numpy.float64)
    lengths, axes, total = _decomposed(given, mean, num_components or _USUAL)
    kept = len(lengths)
    farthest = numpy.abs(axes).argmax(axis=1)
    axes = axes * numpy.where(axes[numpy.arange(kept), farthest] < 0, -1.0, 1.0)[:, None]
    places = numpy.zeros((len(given), kept))
    for at, chunk in _chunks(given, mean):
        places += chunk @ axes[:, at].T
    return Components(
        mean=mean,
        axes=axes,
        variances=numpy.square(lengths) / max(len(given) - 1, 1),
        shares=numpy.square(lengths) / (total or 1.0),
        places=places,
    )


def _decomposed(points: Array, mean: Matrix, wanted: int) -> tuple[Matrix, Matrix, float]:
    """The longest directions, and how long the points are in each, without those that are mere rounding.

    Also the sum of all squares.
    """
    epsilon = float(numpy.finfo(numpy.float64).eps)
    largest = float(numpy.abs(points).max())
    if points.size <= _SMALL:
        _, lengths, axes = numpy.linalg.svd(points - mean, full_matrices=False)
        least = max(points.shape) * epsilon * max(float(lengths[0]), largest)
        kept = min(wanted, int((lengths > least).sum()))
        return lengths[:kept], axes[:kept], float(numpy.square(lengths).sum())
    # Squared, it is quicker by far and needs little memory, at the price of half of the digits.
    is_tall = points.shape[1] <= len(points)
    if is_tall:
        products = numpy.zeros((points.shape[1], points.shape[1]))
        num_items = max(1, _SMALL // points.shape[1])
        for start in range(0, len(points), num_items):
            chunk = points[start : start + num_items] - mean
            products += chunk.T @ chunk
    else:
        products = gram(replace(in_memory(points), shift=mean), MEMORY_BYTES)
    squares, turned = numpy.linalg.eigh(products)
    total = float(numpy.trace(products))
    lengths = numpy.sqrt(numpy.maximum(squares[::-1], 0.0))
    kept = min(wanted, int((lengths > epsilon**0.5 * max(float(lengths[0]), largest)).sum()))
    lengths, axes = lengths[:kept], turned.T[::-1][:kept]
    if not is_tall:
        chunks = [axes @ chunk for _, chunk in _chunks(points, mean)]
        axes = numpy.concatenate(chunks, axis=1) / lengths[:, None]
    return lengths, axes, total
