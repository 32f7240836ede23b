"""Receptive fields by activation: what the input, or any layer, looks like when a unit responds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError
from torcheer.graph.sizes import readable_bytes
from torcheer.netview.analysis.points import Array, chunks_of_units, points_of

_MOST_BYTES: Final = 2 << 30


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
    chosen = given if units is None else given[:, _checked(units, given.shape[1])]
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
    start = 0
    for chunk in chunks_of_units(seen):
        centred = chunk - chunk.mean(axis=0) if minus_mean else chunk
        fields[:, start : start + chunk.shape[1]] = shares @ centred
        start += chunk.shape[1]
    return fields.reshape(len(shares), *shape)


def _checked(units: Sequence[int] | NDArray[numpy.integer], num_units: int) -> NDArray[numpy.int64]:
    numbers = numpy.asarray(units).reshape(-1)
    if numbers.dtype.kind not in "iu" or not ((numbers >= 0) & (numbers < num_units)).all():
        raise InputError(f"units are whole numbers from 0 to {num_units - 1:,}: {units!r} are not.")
    return numbers.astype(numpy.int64)
