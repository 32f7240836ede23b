"""Where the values of a layer are: in which record, where in it, and how they lie on its units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.runs.netindex import Mark, RankIndex
from torcheer.app.runs.netlevels import numbers_in
from torcheer.app.runs.netscenes import BIAS, RunScene
from torcheer.graph import shape_text
from torcheer.netview import item_shape
from torcheer.run import NetLayer, RunReader, Slice, SqlitePart
from torcheer.tensorfile import Array


class Stretch(NamedTuple):
    """Some neighbours in a record."""

    mark: Mark
    start: int  # elements before them
    size: int  # elements


class Found(NamedTuple):
    """The values of a layer in a record: one item, or a vector that holds for many units."""

    stretch: Stretch
    shape: tuple[int, ...]  # of these values
    layer: NetLayer
    axis: int | None  # of the layer, along which a vector lies; None where each unit has its value

    @property
    def is_whole(self) -> bool:
        """Whether there is a value for each unit, in their order."""
        return self.axis is None and self.stretch.size == self.layer.grid.num_units


def find(net: RunScene, index: RankIndex, layer: str, variable: str, step: int, item: int) -> Found | str:
    """The last record up to a step; or why there is none, in a sentence."""
    known = net.layers.get(layer)
    if known is None:
        return "there is no such layer in this run"
    series = index.series.get(net.series.get((layer, variable), ""))
    if series is None:
        return f"{variable} was not recorded of this layer"
    mark = series.last_up_to(step)
    if mark is None:
        return f"nothing was recorded up to this step: the first record is of step {series.marks[0].step}"
    return found_in(net, known, variable, mark, item)


def found_in(net: RunScene, layer: NetLayer, variable: str, mark: Mark, item: int) -> Found | str:
    """Where in a record the values of an item are."""
    shape = mark.outline.shape
    if variable == BIAS and len(shape) == 1 and layer.shape:
        axis = _axis(net, layer, shape[0])
        if axis is not None:
            return Found(Stretch(mark, 0, shape[0]), shape, layer, axis)
    has_items = layer.has_items and len(shape) > 0
    if has_items and item >= shape[0]:
        some = "1 item" if shape[0] == 1 else f"{shape[0]:,} items"
        return f"this record has {some}: there is no item {item}, counted from 0"
    shape = item_shape(shape, has_items)
    count = math.prod(shape)
    if count != layer.grid.num_units and not _has_room(layer.shape, shape):
        return (
            f"it was recorded with the shape {shape_text(shape)}, and the layer has {shape_text(layer.shape)}"
        )
    return Found(Stretch(mark, item * count if has_items else 0, count), shape, layer, None)


def _axis(net: RunScene, layer: NetLayer, length: int) -> int | None:
    """The dimension of a layer that a vector belongs to."""
    last = len(layer.shape) - 1
    for axis in (0, last) if layer.name in net.by_map else (last, 0):
        if layer.shape[axis] == length:
            return axis
    return None


def _has_room(large: Sequence[int], small: Sequence[int]) -> bool:
    """Whether one shape lies in a corner of the other: sequences are not always of one length."""
    return len(large) == len(small) and all(its <= room for its, room in zip(small, large, strict=True))


# --- units ---------------------------------------------------------------------------------------


def place_of(found: Found, unit: int) -> int | None:
    """Which of the values is that of a unit."""
    if found.is_whole:
        return unit
    indices = [int(index) for index in numpy.unravel_index(unit, found.layer.shape)]
    if found.axis is not None:
        return indices[found.axis]
    if any(index >= size for index, size in zip(indices, found.shape, strict=True)):
        return None
    return int(numpy.ravel_multi_index(indices, found.shape))


def on_units(found: Found, numbers: Array) -> tuple[Array, NDArray[numpy.bool_] | None]:
    """A number for each unit, and where there is one; None for everywhere."""
    if found.is_whole:
        return numbers, None
    shape = tuple(found.layer.shape)
    if found.axis is not None:
        along = [1] * len(shape)
        along[found.axis] = -1
        return numpy.broadcast_to(numbers.reshape(along), shape).reshape(-1), None
    corner = tuple(slice(0, size) for size in found.shape)
    full = numpy.zeros(shape, dtype=numbers.dtype)
    is_there = numpy.zeros(shape, dtype=numpy.bool_)
    full[corner] = numbers.reshape(found.shape)
    is_there[corner] = True
    return full.reshape(-1), is_there.reshape(-1)


# --- bytes -----------------------------------------------------------------------------------------


def read_stretches(reader: RunReader, wanted: Sequence[Stretch]) -> list[Array | None]:
    """Real numbers, flat; None for what is gone or damaged. Of large records only what is wanted is read."""
    found: list[Array | None] = [None] * len(wanted)
    of_parts: dict[str, list[int]] = {}
    for place, one in enumerate(wanted):
        of_parts.setdefault(one.mark.part, []).append(place)
    parts = reader.parts()
    for name, places in of_parts.items():
        part = parts.get(name)
        slices = [_slice(wanted[place]) for place in places]
        if isinstance(part, SqlitePart):
            pieces = part.slices(slices)
        elif part is not None:
            pieces = [_cut(part.data(one.record), one) for one in slices]
        else:
            continue
        for place, piece in zip(places, pieces, strict=True):
            if piece is not None:
                found[place] = numbers_in(piece, wanted[place].mark.outline.dtype)
    return found


def _slice(stretch: Stretch) -> Slice:
    shape, _, size = stretch.mark.outline
    return Slice(stretch.mark.id, math.prod(shape) * size, stretch.start * size, stretch.size * size)


def _cut(data: bytes | None, wanted: Slice) -> bytes | None:
    if data is None or len(data) != wanted.num_bytes:
        return None
    return data[wanted.start : wanted.start + wanted.size]
