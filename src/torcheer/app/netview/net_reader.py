"""Read the network of a run: where values lie in its records, their numbers, and levels for the page."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy
from numpy.typing import NDArray

from torcheer.app.cache import Cache
from torcheer.app.netview.net_messages import LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY
from torcheer.app.netview.net_scene import BIAS, RunScene, scene_of
from torcheer.app.netview.tensor_index import Mark, NetIndex, RankIndex
from torcheer.app.passes.pass_values import NUMPY_TYPES
from torcheer.app.runs.open_run import OpenRun
from torcheer.graph import shape_text
from torcheer.netview import RECEIVED, SENT, WEIGHT, item_shape
from torcheer.run import NetLayer, RunReader, Slice, SqlitePart
from torcheer.tensorfile import Array, as_numbers, as_real

# A page takes the highest less the lowest, which must be a number, too.
_LARGEST: Final = float(numpy.finfo(numpy.float64).max) / 2
_EXACT_IN_FLOAT32: Final = 2  # bytes of whole numbers

Codes = NDArray[numpy.uint16]


class Levels(NamedTuple):
    """A code for each value, and what level 0 and the highest level stand for."""

    codes: Codes
    low: float
    high: float


NO_LEVELS: Final = Levels(numpy.empty(0, dtype=numpy.uint16), 0.0, 0.0)


def numbers_in(data: bytes, dtype: str) -> Array:
    """Real numbers, flat: complex ones by their magnitude. The bytes were held against the shape before."""
    if dtype == "complex32":  # two float16 each, for which NumPy has no type
        parts = numpy.frombuffer(data, "<f2").astype(numpy.float32)
        return as_real(parts.view(numpy.complex64))
    raw = numpy.frombuffer(data, dtype=NUMPY_TYPES[dtype].newbyteorder("<"))
    return as_real(as_numbers(raw != 0 if dtype == "bool" else raw, dtype))


def levels_of(numbers: Array, is_there: NDArray[numpy.bool_] | None = None) -> Levels:
    """Of the same shape. What is not there has a code of its own and does not count."""
    if is_there is not None:
        found = levels_of(numbers[is_there])
        codes = numpy.full(numbers.shape, NOT_THERE, dtype=numpy.uint16)
        codes[is_there] = found.codes
        return Levels(codes, found.low, found.high)
    is_small = numbers.dtype.itemsize <= _EXACT_IN_FLOAT32
    values = numbers if numbers.dtype.kind == "f" else numbers.astype(numpy.float32 if is_small else float)
    if not values.size:
        return Levels(numpy.empty(values.shape, dtype=numpy.uint16), 0.0, 0.0)
    with numpy.errstate(all="ignore"):
        low, high = float(values.min()), float(values.max())  # NaN where there is one
        if low >= -_LARGEST and high <= _LARGEST:
            return Levels(_scaled(values, low, high), low, high)
        # In the type of the values: in a smaller one, the limit itself would be infinite.
        is_number = numpy.abs(values) <= min(_LARGEST, float(numpy.finfo(values.dtype).max))
        codes = numpy.where(values > 0, PLUS_INFINITY, MINUS_INFINITY).astype(numpy.uint16)
        codes[numpy.isnan(values)] = NOT_A_NUMBER
        some = values[is_number]
        low, high = (float(some.min()), float(some.max())) if some.size else (0.0, 0.0)
        codes[is_number] = _scaled(some, low, high)
        return Levels(codes, low, high)


def _scaled(values: NDArray[Any], low: float, high: float) -> Codes:
    work = values.astype(numpy.float64) - low
    if high > low:
        work /= high - low
        work *= LEVELS
    codes: Codes = numpy.rint(work, out=work).astype(numpy.uint16)
    return codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankNet:
    """One rank of a run as of now. For whoever holds the lock of the run."""

    reader: RunReader
    index: RankIndex
    net: RunScene


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


def find(net: RankNet, layer: str, variable: str, step: int, item: int) -> Found | str:
    """The last record up to a step; or why there is none, in a sentence."""
    known = net.net.layers.get(layer)
    if known is None:
        return "there is no such layer in this run"
    series = net.index.series.get(net.net.series.get((layer, variable), ""))
    if series is None:
        return f"{variable} was not recorded of this layer"
    mark = series.last_up_to(step)
    if mark is None:
        return f"nothing was recorded up to this step: the first record is of step {series.marks[0].step}"
    return found_in(net, known, variable, mark, item)


def found_in(net: RankNet, layer: NetLayer, variable: str, mark: Mark, item: int) -> Found | str:
    shape = mark.outline.shape
    if variable == BIAS and len(shape) == 1 and layer.shape:
        last = len(layer.shape) - 1  # the dimension that a vector belongs to
        order = (0, last) if layer.name in net.net.by_map else (last, 0)
        axis = next((axis for axis in order if layer.shape[axis] == shape[0]), None)
        if axis is not None:
            return Found(Stretch(mark, 0, shape[0]), shape, layer, axis)
    has_items = layer.has_items and len(shape) > 0
    if has_items and item >= shape[0]:
        some = "1 item" if shape[0] == 1 else f"{shape[0]:,} items"
        return f"this record has {some}: there is no item {item}, counted from 0"
    shape = item_shape(shape, has_items)
    count = math.prod(shape)
    # Sequences are not always of one length: one shape may lie in a corner of the other.
    has_room = len(shape) == len(layer.shape) and all(map(operator.le, shape, layer.shape))
    if count != layer.grid.num_units and not has_room:
        return (
            f"it was recorded with the shape {shape_text(shape)}, and the layer has {shape_text(layer.shape)}"
        )
    return Found(Stretch(mark, item * count if has_items else 0, count), shape, layer, None)


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


def read_stretches(reader: RunReader, wanted: Sequence[Stretch | None]) -> list[Array | None]:
    """Real numbers, flat; None for what is gone or damaged. Of large records only what is wanted is read."""
    found: list[Array | None] = [None] * len(wanted)
    of_parts: dict[str, list[tuple[int, Stretch]]] = {}
    for place, one in enumerate(wanted):
        if one is not None:
            of_parts.setdefault(one.mark.part, []).append((place, one))
    parts = reader.parts()
    for name, some in of_parts.items():
        part = parts.get(name)
        slices = []
        for _, (mark, start, count) in some:
            shape, _, size = mark.outline
            slices.append(Slice(mark.id, math.prod(shape) * size, start * size, count * size))
        if isinstance(part, SqlitePart):
            pieces = part.slices(slices)
        elif part is not None:
            pieces = [_cut(part.data(one.record), one) for one in slices]
        else:
            continue
        for (place, one), piece in zip(some, pieces, strict=True):
            if piece is not None:
                found[place] = numbers_in(piece, one.mark.outline.dtype)
    return found


def _cut(data: bytes | None, wanted: Slice) -> bytes | None:
    if data is None or len(data) != wanted.num_bytes:
        return None
    return data[wanted.start : wanted.start + wanted.size]


_HELD_BYTES: Final = 1 << 28  # of weights that were asked for last
_MAX_RANKS: Final = 64  # of which the scenes are kept


class _Known:
    def __init__(self) -> None:
        self.index = NetIndex()
        self.version = -1
        self.scenes: dict[int, tuple[object, RunScene]] = {}  # by rank, with what they depend on
        self.held: Cache[Array] = Cache(_HELD_BYTES)


class Nets:
    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the table: several runs may be read at a time
        self._known: WeakKeyDictionary[RunReader, _Known] = WeakKeyDictionary()

    def look(self, run: OpenRun, rank: int) -> RankNet:
        """The lock of the run is held by whoever asks."""
        reader = run.look()
        known = self._of(reader)
        if known.version != run.version:
            known.index.read_on(reader)
            known.version = run.version
        index = known.index.rank(rank)
        # Of a watched training the rows may change without any new tensor.
        depends = (known.index.generation, index.num_outlines, index.scene or reader.watched.plan(rank).rows)
        kept = known.scenes.get(rank)
        if kept is None or kept[0] != depends:
            if len(known.scenes) >= _MAX_RANKS:
                known.scenes.clear()
            kept = known.scenes[rank] = depends, scene_of(reader, rank, index)
        return RankNet(reader=reader, index=index, net=kept[1])

    def ranks(self, reader: RunReader) -> list[int]:
        """Those of which something was recorded or watched, as of the last look."""
        return sorted({*self._of(reader).index.ranks(), *reader.watched.ranks()})

    def whole(self, reader: RunReader, stretch: Stretch) -> Array | None:
        """The numbers of a stretch that is asked for again and again, such as all of a weight."""
        held = self._of(reader).held
        numbers = held.get(stretch)
        if numbers is None:
            (numbers,) = read_stretches(reader, [stretch])
            if numbers is not None:
                held.put(stretch, numbers, numbers.nbytes)
        return numbers

    def _of(self, reader: RunReader) -> _Known:
        with self._lock:
            known = self._known.get(reader)
            if known is None:
                known = self._known[reader] = _Known()
            return known


Range = tuple[float, float]  # the first is larger where nothing is known


def ranges_of(net: RankNet) -> dict[str, Range]:
    """By variable, those of weights among them. Nothing is read.

    Inputs, such as the numbers of words, are often far larger than all that is made of them: they count only
    for a variable that no other layer has.
    """
    found = dict.fromkeys(net.net.variables, (math.inf, -math.inf))
    inputs = {layer.name for layer in net.net.scene.layers if layer.is_input}
    of_inputs = dict(found)
    for (layer, variable), name in net.net.series.items():
        _widen(of_inputs if layer in inputs else found, variable, net, name)
    found = {name: known if known[0] <= known[1] else of_inputs[name] for name, known in found.items()}
    whats = {variable[len(RECEIVED) :] for variable in net.net.weight_variables}
    weights = {one.weight for one in net.net.scene.connections if one.weight}
    for weight in weights:
        for what in whats:
            name = weight_series(weight, what)
            for end in (RECEIVED, SENT):
                _widen(found, end + what, net, name)
    return found


def weight_series(weight: str, what: str) -> str:
    """The series of a weight, or of what goes with it: its gradient, its last change…"""
    return weight if what == WEIGHT else f"{weight}.{what}"


def weight_mark(net: RankNet, name: str, step: int) -> Mark | str:
    series = net.index.series.get(name)
    if series is None:
        return f"{name} was not recorded"
    return series.last_up_to(step) or f"{name} was first recorded at step {series.marks[0].step}"


def _widen(found: dict[str, Range], variable: str, net: RankNet, name: str) -> None:
    series = net.index.series.get(name)
    if series is not None and variable in found:
        low, high = found[variable]
        found[variable] = min(low, series.low), max(high, series.high)
