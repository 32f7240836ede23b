"""The weights of one unit, laid on the units of the layers at their other end."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.net.index import Mark
from torcheer.app.net.messages import NetBlock, NetWeightsAnswer, NetWeightsQuestion
from torcheer.app.net.net_reader import (
    NO_LEVELS,
    Found,
    Levels,
    Nets,
    RankNet,
    Stretch,
    find,
    found_in,
    levels_of,
    on_units,
    read_stretches,
    weight_series,
)
from torcheer.app.net.net_scene import BIAS
from torcheer.app.net.net_values import MAX_LEVELS, block_of, frame_bytes, layer_with, unit_stretch
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.wire import binary_frame
from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.netview import WEIGHT, UnitWeights, received, sent
from torcheer.run import Connection, NetLayer
from torcheer.tensorfile import Array

_MAX_WEIGHT_BYTES: Final = 1 << 28  # of one that is read
_MAX_CONNECTIONS: Final = 256  # of one unit
# What numbers of somebody else's making can lead to, beside the errors that say so.
_FAULTS: Final = (ValueError, IndexError, ArithmeticError, MemoryError)


class _Known(NamedTuple):
    """A connection of the unit, with what is needed to lay it out; or why that is not there."""

    connection: Connection
    other: NetLayer
    weight: Array | None
    step: int
    source_values: Array | None
    why: str


def answer_weights(nets: Nets, run: OpenRun, question: NetWeightsQuestion) -> bytes:
    with run.lock:
        net = nets.look(run, question.rank)
        layer = layer_with(net, question.layer, question.unit)
        is_received = question.direction == "received"
        own = [
            one
            for one in net.net.scene.connections
            if layer.name == (one.target if is_received else one.source)
        ][:_MAX_CONNECTIONS]
        known = [_known(nets, net, one, question) for one in own]
        bias = _bias(net, layer, question)
    laid: dict[str, _Laid] = {}
    room = MAX_LEVELS
    for one in known:
        name = one.other.name
        if name not in laid:
            room -= one.other.grid.num_units
            laid[name] = _Laid(one.other)
        if room >= 0:
            laid[name].add(one, layer, question)
    done = [one.block() for one in laid.values()]
    answer = NetWeightsAnswer(
        id=question.id,
        blocks=[block for block, _ in done],
        bias=bias,
        num_weights=sum(one.num_weights for one in laid.values()),
    )
    return binary_frame(answer, frame_bytes([levels for _, levels in done]))


# --- what is known of a connection -----------------------------------------------------------------


def _known(nets: Nets, net: RankNet, connection: Connection, question: NetWeightsQuestion) -> _Known:
    layers = net.net.layers
    other = layers[connection.source if question.direction == "received" else connection.target]
    found = _weight(nets, net, connection, question)
    if isinstance(found, str):
        return _Known(connection, other, None, 0, None, found)
    weight, mark = found
    values = None
    if connection.form == "embedding":
        values = _values(net, connection.source, question)
    return _Known(connection, other, weight, mark.step, values, "")


def _weight(
    nets: Nets, net: RankNet, connection: Connection, question: NetWeightsQuestion
) -> tuple[Array, Mark] | str:
    if not connection.weight:
        return "there are no weights in between"
    is_attention = connection.form == "attention"
    if is_attention and question.variable != WEIGHT:
        return f"attention has no {question.variable}"
    name = weight_series(connection.weight, question.variable)
    series = net.index.series.get(name)
    if series is None:
        return f"{name} was not recorded"
    mark = series.last_up_to(question.step)
    if mark is None:
        return f"{name} was first recorded at step {series.marks[0].step}"
    shape, start = mark.outline.shape, 0
    if is_attention and shape and _has_items(net, name, len(shape)):
        if question.item >= shape[0]:
            return f"{name} has {shape[0]:,} items: there is no item {question.item}, counted from 0"
        shape = shape[1:]
        start = question.item * math.prod(shape)
    num_bytes = math.prod(shape) * mark.outline.element_bytes
    if num_bytes > _MAX_WEIGHT_BYTES:
        return f"{name} takes {readable_bytes(num_bytes)}, more than is read for one unit"
    numbers = nets.whole(net.reader, Stretch(mark, start, math.prod(shape)))
    if numbers is None:
        return f"{name} is damaged, or was thinned out this moment"
    # Attention that is a mean over heads has none of them.
    return numbers.reshape((1, *shape) if is_attention and len(shape) == 2 else shape), mark


def _has_items(net: RankNet, name: str, num_dims: int) -> bool:
    """Of attention: whether each item of a batch has its own, as the layer says that it belongs to."""
    layers = [layer for (layer, _), series in net.net.series.items() if series == name]
    return net.net.layers[layers[0]].has_items if layers else num_dims > 3


def _values(net: RankNet, layer: str, question: NetWeightsQuestion) -> Array | None:
    found = find(net.net, net.index, layer, "Act", question.step, question.item)
    if isinstance(found, str):
        return None
    (numbers,) = read_stretches(net.reader, [found.stretch])
    return None if numbers is None else on_units(found, numbers)[0]


def _bias(net: RankNet, layer: NetLayer, question: NetWeightsQuestion) -> float | None:
    """Of the unit itself; None where it has none, or none that is a number."""
    name = net.net.series.get((layer.name, BIAS), "")
    series = net.index.series.get(weight_series(name, question.variable))
    mark = None if series is None else series.last_up_to(question.step)
    found = None if mark is None else found_in(net.net, layer, BIAS, mark, question.item)
    stretch = unit_stretch(found, question.unit) if isinstance(found, Found) else None
    if stretch is None:
        return None
    (numbers,) = read_stretches(net.reader, [stretch])
    value = math.nan if numbers is None else float(numbers[0])
    return value if math.isfinite(value) else None


# --- on the units of a layer -----------------------------------------------------------------------


class _Laid:
    """The weights on one layer. Where several connections lead to a unit, they add up."""

    def __init__(self, layer: NetLayer) -> None:
        self._layer = layer
        self._values: Array | None = None
        self._is_connected: NDArray[numpy.bool_] = numpy.zeros(0, dtype=numpy.bool_)
        self._step = 0
        self._why = "there are too many units for one answer"
        self.num_weights = 0

    def add(self, known: _Known, layer: NetLayer, question: NetWeightsQuestion) -> None:
        found = _lay(known, layer, question)
        if isinstance(found, str):
            if self._values is None:
                self._why = found
            return
        self._why = ""
        self._step = max(self._step, known.step)
        self.num_weights += int(numpy.count_nonzero(found.is_connected))
        if self._values is None:
            self._values, self._is_connected = found
        else:
            self._values = self._values + found.values
            self._is_connected = self._is_connected | found.is_connected

    def block(self) -> tuple[NetBlock, Levels]:
        if self._values is None:
            return block_of(self._layer.name, 0, NO_LEVELS, self._why), NO_LEVELS
        levels = levels_of(self._values, self._is_connected)
        return block_of(self._layer.name, self._step, levels), levels


def _lay(known: _Known, layer: NetLayer, question: NetWeightsQuestion) -> UnitWeights | str:
    if known.weight is None:
        return known.why
    is_received = question.direction == "received"
    source, target = (known.other, layer) if is_received else (layer, known.other)
    try:
        found = (received if is_received else sent)(
            known.connection,
            known.weight,
            source.shape,
            target.shape,
            question.unit,
            source_values=known.source_values,
        )
    except InputError as error:
        return str(error)
    except _FAULTS:
        return "the weights do not fit the layers that they connect"
    if found.values.shape != (known.other.grid.num_units,):
        return "the weights do not fit the layers that they connect"
    return found
