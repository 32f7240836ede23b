"""What is analysed: a row for each item, a column for each unit; and a label for each item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError

Matrix = NDArray[numpy.float64]
Array = NDArray[Any]

_CHUNK_NUMBERS: Final = 4 << 20  # that are turned into float64 at once


def points_of(given: ArrayLike, *, what: str = "points", is_finite: bool = False) -> Array:
    """Items down, units across, as real numbers of whatever type. `is_finite`: nothing else will do."""
    points = numpy.asarray(given)
    if points.ndim < 1 or points.dtype.kind not in "fiub":
        raise InputError(
            f"{what} must be an array of real numbers with a row for each item, and not {points.dtype} of "
            f"the shape {points.shape}."
        )
    points = points.reshape(len(points), -1) if points.size else points.reshape(len(points), 0)
    if not points.size:
        raise InputError(f"{what} of the shape {points.shape} hold nothing: give a row for each item.")
    if is_finite and not numpy.isfinite(points).all():
        items = numpy.flatnonzero(~numpy.isfinite(points).all(axis=1))
        raise InputError(
            f"{what} hold NaN or infinities, first in item {items[0]}, in {len(items)} of {len(points)}: "
            "leave those items out."
        )
    return points


def labels_of(given: ArrayLike, num_items: int) -> Array:
    labels = numpy.asarray(given)
    if labels.shape != (num_items,):
        raise InputError(
            f"labels of the shape {labels.shape} do not go with {num_items:,} items: give one for each."
        )
    return labels


def chunks_of_units(points: Array, centre: Matrix | None = None) -> Iterator[Matrix]:
    """All items, some units at a time, so that a large layer needs no second copy of itself.

    `centre` is taken away: a number for each unit, or one for each item as a column.
    """
    num_units = max(1, _CHUNK_NUMBERS // len(points))
    for start in range(0, points.shape[1], num_units):
        chunk = points[:, start : start + num_units].astype(numpy.float64)
        if centre is not None:
            chunk -= centre if centre.ndim == 2 else centre[start : start + num_units]
        yield chunk


def products(points: Array, centre: Matrix | None = None) -> Matrix:
    """Of every item with every other, summed over units; of what is left without `centre`."""
    total = numpy.zeros((len(points), len(points)))
    for chunk in chunks_of_units(points, centre):
        total += chunk @ chunk.T
    return total
