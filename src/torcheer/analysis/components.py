"""Principal components: the directions in which the responses of a layer vary most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy
from numpy.typing import ArrayLike

from torcheer.analysis.rows import Array, Matrix, chunks_of_units, points_of
from torcheer.errors import InputError

_USUAL: Final = 50
_SMALL: Final = 2 << 20  # numbers that are decomposed as they are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Components:
    """The first directions, the one with the most variance first."""

    mean: Matrix  # of each unit
    axes: Matrix  # a row of units for each component, of length 1; its largest entry is positive
    variances: Matrix  # along each component, over items less one
    shares: Matrix  # of the variance of all units
    places: Matrix  # items by components: where each item lies

    def project(self, points: ArrayLike) -> Matrix:
        """Where other items lie in the same directions."""
        given = points_of(points, is_finite=True)
        if given.shape[1] != len(self.mean):
            raise InputError(
                f"these components are of {len(self.mean):,} units, and the points have {given.shape[1]:,}: "
                "take the same layer."
            )
        return _projected(given, self.mean, self.axes)


def principal_components(points: ArrayLike, num_components: int | None = None) -> Components:
    """Of a row for each item and a column for each unit.

    - `num_components`: 50 unless told otherwise. There are fewer where the items do not vary in more
      directions.
    """
    given = points_of(points, is_finite=True)
    if num_components is not None and num_components < 1:
        raise InputError(f"num_components is {num_components}: ask for one at least.")
    mean = given.mean(axis=0, dtype=numpy.float64)
    lengths, axes = _decomposed(given, mean, num_components or _USUAL)
    kept = len(lengths)
    farthest = numpy.abs(axes).argmax(axis=1)
    axes = axes * numpy.where(axes[numpy.arange(kept), farthest] < 0, -1.0, 1.0)[:, None]
    total = sum(float(numpy.square(chunk - chunk.mean(axis=0)).sum()) for chunk in chunks_of_units(given))
    return Components(
        mean=mean,
        axes=axes,
        variances=numpy.square(lengths) / max(len(given) - 1, 1),
        shares=numpy.square(lengths) / (total or 1.0),
        places=_projected(given, mean, axes),
    )


def _decomposed(points: Array, mean: Matrix, wanted: int) -> tuple[Matrix, Matrix]:
    """The longest directions, and how long the points are in each, without those that are mere rounding."""
    epsilon = float(numpy.finfo(numpy.float64).eps)
    largest = float(numpy.abs(points).max())
    if points.size <= _SMALL:
        _, lengths, axes = numpy.linalg.svd(points - mean, full_matrices=False)
        least = max(points.shape) * epsilon * max(float(lengths[0]), largest)
        kept = min(wanted, int((lengths > least).sum()))
        return lengths[:kept], axes[:kept]
    # Squared, it is quicker by far and needs little memory, at the price of half of the digits.
    is_tall = points.shape[1] <= len(points)
    squares, turned = numpy.linalg.eigh(_covariance(points, mean) if is_tall else _products(points, mean))
    lengths = numpy.sqrt(numpy.maximum(squares[::-1], 0.0))
    kept = min(wanted, int((lengths > epsilon**0.5 * max(float(lengths[0]), largest)).sum()))
    lengths, axes = lengths[:kept], turned.T[::-1][:kept]
    if not is_tall:
        chunks = [axes @ chunk for chunk in chunks_of_units(points, mean)]
        axes = numpy.concatenate(chunks, axis=1) / lengths[:, None]
    return lengths, axes


def _covariance(points: Array, mean: Matrix) -> Matrix:
    total = numpy.zeros((points.shape[1], points.shape[1]))
    num_items = max(1, _SMALL // points.shape[1])
    for start in range(0, len(points), num_items):
        chunk = points[start : start + num_items] - mean
        total += chunk.T @ chunk
    return total


def _products(points: Array, mean: Matrix) -> Matrix:
    total = numpy.zeros((len(points), len(points)))
    for chunk in chunks_of_units(points, mean):
        total += chunk @ chunk.T
    return total


def _projected(points: Array, mean: Matrix, axes: Matrix) -> Matrix:
    places, start = numpy.zeros((len(points), len(axes))), 0
    for chunk in chunks_of_units(points, mean):
        places += chunk @ axes[:, start : start + chunk.shape[1]].T
        start += chunk.shape[1]
    return places
