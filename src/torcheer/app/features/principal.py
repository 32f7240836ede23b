"""Samples of a layer as points: all units where they are few, else on their principal axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy

from torcheer.app.features.openset import Array, Indices
from torcheer.app.runs.reduction import principal_places
from torcheer.errors import InputError
from torcheer.features import StoredLayer
from torcheer.graph import readable_bytes

MOST_DIMS: Final = 512  # points of more are brought to their principal axes
NUM_AXES: Final = 64
_AT_ONCE_BYTES: Final = 32 << 20
_MAX_POINT_BYTES: Final = 2 << 30


def principal_points(
    layer: StoredLayer, samples: Indices, says: Callable[[float], None]
) -> tuple[Array, str]:
    """A row for each sample, in their order, and what is to be known of them."""
    num_units = math.prod(layer.shape[1:])
    if len(samples) * num_units * 4 > _MAX_POINT_BYTES:
        raise InputError(
            f"{len(samples):,} samples of this layer take {readable_bytes(4 * len(samples) * num_units)} of "
            "memory: take fewer samples."
        )
    points = numpy.empty((len(samples), num_units), numpy.float32)
    order = numpy.argsort(samples, kind="stable")
    step = max(1, _AT_ONCE_BYTES // max(1, layer.dtype.itemsize * num_units))
    for start in range(0, len(samples), step):
        some = order[start : start + step]
        points[some] = numpy.asarray(layer[samples[some]]).reshape(len(some), -1)
        says(0.5 * min(1.0, (start + step) / len(samples)))
    if num_units <= MOST_DIMS:
        return points, ""
    is_there = numpy.isfinite(points).all(axis=1)
    places = numpy.full(
        (len(samples), min(NUM_AXES, max(1, int(is_there.sum()) - 1))), numpy.nan, numpy.float32
    )
    found, share = on_axes(points[is_there], places.shape[1])
    places[is_there] = found
    note = (
        f"{num_units:,} units were brought to their {places.shape[1]} principal axes, which hold {share:.0%} "
        "of the variance."
    )
    return places, note


def on_axes(points: Array, wanted: int) -> tuple[Array, float]:
    """The points on their principal axes, and which share of the variance these hold."""
    num_points, num_units = points.shape
    if num_points >= num_units or num_points > 4096:
        places, share = principal_places(points, wanted)
        return places, share
    # Fewer points than units: their products with one another say all.
    centred = points - points.mean(axis=0, dtype=numpy.float64).astype(numpy.float32)
    scale = float(numpy.abs(centred).max(initial=0.0)) or 1.0
    centred /= numpy.float32(scale)
    sizes, vectors = numpy.linalg.eigh((centred @ centred.T).astype(numpy.float64))
    sizes, vectors = numpy.maximum(sizes[::-1], 0.0), vectors[:, ::-1]
    places = vectors[:, :wanted] * numpy.sqrt(sizes[:wanted])
    farthest = numpy.abs(places).argmax(axis=0)
    places *= numpy.where(places[farthest, range(places.shape[1])] < 0, -1.0, 1.0)
    total = float(sizes.sum())
    return places * scale, float(sizes[:wanted].sum()) / total if total else 1.0
