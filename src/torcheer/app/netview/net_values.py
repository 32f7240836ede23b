"""The network of a run, its moments and its values, as a page asks for them.

Scene and moments are followed. Values come as levels: of layers at a moment and over the last moments; of one
unit all variables, and its weights.
"""

from __future__ import annotations

import functools
import math
import operator
from bisect import bisect_right
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.app.netview import net_messages as messages
from torcheer.app.netview.net_reader import (
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
    place_of,
    ranges_of,
    read_stretches,
    weight_mark,
    weight_series,
)
from torcheer.app.netview.net_scene import BIAS, RunScene
from torcheer.app.netview.tensor_index import Mark
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import Looked, Watch, follow_run
from torcheer.app.runs.run_records import evenly
from torcheer.app.wire import as_text, binary_frame, clipped, countable, finite
from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.netview import WEIGHT, UnitWeights, about, weights_of_unit
from torcheer.run import Connection, NetLayer
from torcheer.tensorfile import Array

_MAX_MOMENTS: Final = 200_000  # the last ones
_CHUNK: Final = 20_000  # moments of one answer
_MAX_COUNTERS: Final = 32  # names


def moments_of(nets: Nets, run: OpenRun, question: messages.NetMomentsQuestion) -> messages.NetMomentsAnswer:
    """Those of one rank, by step. The time of one is that of its first value."""
    with run.lock:
        net = nets.look(run, question.rank)
        steps, times = _steps_and_times(net)
        # The last moment is being written: its counters come last, and others have theirs.
        *before, last_step = steps[-2:].tolist() or [None]
        if (
            run.is_running
            and before
            and last_step not in net.index.counters
            and before[0] in net.index.counters
        ):
            steps, times = steps[:-1], times[:-1]
        last = steps[-_MAX_MOMENTS:].tolist()
        counters = _columns(net.index.counters, last)
        ranges = ranges_of(net)
    return messages.NetMomentsAnswer(
        id=question.id,
        is_all=True,
        steps=[countable(step) or 0 for step in last],
        times=[finite(time) or 0.0 for time in times[-_MAX_MOMENTS:].tolist()],
        counters=counters,
        ranges=[
            messages.NetRange(variable=name, low=low, high=high)
            for name, (low, high) in ranges.items()
            if math.isfinite(low) and math.isfinite(high)
        ],
        is_running=run.is_running,
    )


def _steps_and_times(net: RankNet) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """A bias, or a weight, changes at moments of its own: these are no moments of the network."""
    names = {name for (_, variable), name in net.net.series.items() if variable != BIAS}
    columns = [net.index.series[name].columns() for name in names if name in net.index.series]
    if not columns:
        return numpy.empty(0, numpy.int64), numpy.empty(0)
    steps = numpy.concatenate([steps for steps, _ in columns])
    times = numpy.concatenate([times for _, times in columns])
    order = numpy.lexsort((times, steps))
    steps, times = steps[order], times[order]
    is_first = numpy.ones(len(steps), dtype=numpy.bool_)
    is_first[1:] = steps[1:] != steps[:-1]
    return steps[is_first], times[is_first]


def _columns(counters: Mapping[int, Mapping[str, str]], steps: Sequence[int]) -> dict[str, Sequence[str]]:
    """A text for each step, empty where there is none."""
    nothing: Mapping[str, str] = {}
    rows = [counters.get(step, nothing) for step in steps] if counters else []
    names: dict[str, None] = {}
    for row in rows:
        for name in row:
            if name not in names and len(names) < _MAX_COUNTERS:
                names[name] = None
    return {name: [row.get(name, "") for row in rows] for name in names}


def new_frames(now: messages.NetMomentsAnswer, before: messages.NetMomentsAnswer | None) -> list[str]:
    """What a page that knows the former moments must hear, so many at a time; nothing without news."""
    num_known = 0 if before is None else len(before.steps)
    # All that were known are just as they were, and none came between them.
    is_more = before is not None and _told(now, num_known) == _told(before, num_known)
    same = before is not None and (now.ranges, now.is_running) == (before.ranges, before.is_running)
    if same and is_more and num_known == len(now.steps):
        return []
    start = num_known if is_more else 0
    return [
        as_text(
            msgspec.structs.replace(
                now,
                is_all=not is_more and first == 0,
                steps=now.steps[first : first + _CHUNK],
                times=now.times[first : first + _CHUNK],
                counters={name: its[first : first + _CHUNK] for name, its in now.counters.items()},
            )
        )
        for first in range(start, max(len(now.steps), start + 1), _CHUNK)
    ]


def _told(moments: messages.NetMomentsAnswer, count: int) -> tuple[object, ...]:
    """So many of them. A counter that none of these has is nothing to tell."""
    counters = {name: its[:count] for name, its in moments.counters.items() if any(its[:count])}
    return moments.steps[:count], moments.times[:count], counters


SeenScene = tuple[RunScene, Sequence[int]]  # what a page was told: a network, and which ranks have one

_PUSH_SECONDS: Final = 0.25  # between two answers: a page that follows shows each moment soon


def follow_net(nets: Nets, watch: Watch, question: messages.NetSceneQuestion) -> AsyncGenerator[str, None]:
    return follow_run(
        watch, question.run_id, lambda run, seen: look_at_scene(nets, run, question, seen), _PUSH_SECONDS
    )


def follow_moments(
    nets: Nets, watch: Watch, question: messages.NetMomentsQuestion
) -> AsyncGenerator[str, None]:
    def look(
        run: OpenRun, before: messages.NetMomentsAnswer | None
    ) -> Looked[str, messages.NetMomentsAnswer]:
        now = moments_of(nets, run, question)
        return new_frames(now, before), now

    return follow_run(watch, question.run_id, look, _PUSH_SECONDS)


def look_at_scene(
    nets: Nets, run: OpenRun, question: messages.NetSceneQuestion, seen: SeenScene | None
) -> Looked[str, SeenScene]:
    with run.lock:
        net = nets.look(run, question.rank)
        ranges = ranges_of(net)
        ranks = nets.ranks(net.reader)
    scene = net.net
    now: SeenScene = (scene, ranks)
    if seen == now:
        return (), now
    variables = []
    for name in scene.variables:
        group, sentence = about(name)
        low, high = ranges[name]
        variables.append(
            messages.NetVariable(
                name=name, group=group, about=clipped(sentence, 500), low=finite(low), high=finite(high)
            )
        )
    answer = messages.NetSceneAnswer(
        id=question.id,
        scene=scene.scene,
        variables=variables,
        source=scene.source,
        num_items=countable(scene.num_items) or 0,
        ranks=ranks,
        note=scene.note,
    )
    return [as_text(answer)], now


MAX_LEVELS: Final = 1 << 25  # of one answer
_TOO_MANY: Final = "there are too many units for one answer: show fewer layers"
_GONE: Final = "this record is damaged, or was thinned out this moment"
_NO_UNITS: Final = "this layer has no units"


def block_of(layer: str, step: int, levels: Levels, why: str = "") -> messages.NetBlock:
    return messages.NetBlock(
        layer=layer,
        step=countable(step) or 0,
        num_units=levels.codes.shape[-1],
        low=levels.low,
        high=levels.high,
        why=clipped(why),
    )


def frame_bytes(levels: Sequence[Levels]) -> bytes:
    return b"".join(one.codes.astype("<u2", copy=False).tobytes() for one in levels)


def answer_values(nets: Nets, run: OpenRun, question: messages.NetValuesQuestion) -> bytes:
    room = MAX_LEVELS
    with run.lock:
        net = nets.look(run, question.rank)
        found: list[Found | str] = []
        for layer in question.layers:
            one = find(net, layer, question.variable, question.step, question.item)
            if isinstance(one, Found):
                room -= one.layer.grid.num_units
                one = _TOO_MANY if room < 0 else one
            found.append(one)
        numbers = read_stretches(
            net.reader, [one.stretch if isinstance(one, Found) else None for one in found]
        )
    done = [_block(*one) for one in zip(question.layers, found, numbers, strict=True)]
    answer = messages.NetValuesAnswer(id=question.id, step=question.step, blocks=[block for block, _ in done])
    return binary_frame(answer, frame_bytes([levels for _, levels in done]))


def _block(layer: str, found: Found | str, numbers: Array | None) -> tuple[messages.NetBlock, Levels]:
    if isinstance(found, str):
        return block_of(layer, 0, NO_LEVELS, found), NO_LEVELS
    step = found.stretch.mark.step
    if numbers is None:
        return block_of(layer, step, NO_LEVELS, _GONE), NO_LEVELS
    levels = levels_of(*on_units(found, numbers))
    why = "" if levels.codes.size else _NO_UNITS
    return block_of(layer, step, levels, why), levels


def answer_raster(nets: Nets, run: OpenRun, question: messages.NetRasterQuestion) -> bytes:
    with run.lock:
        net = nets.look(run, question.rank)
        steps = _steps_and_times(net)[0].tolist()
        last = bisect_right(steps, question.step)
        num_units = sum(
            net.net.layers[layer].grid.num_units for layer in question.layers if layer in net.net.layers
        )
        most = min(question.num_moments, max(1, MAX_LEVELS // max(1, num_units)))
        moments = steps[max(0, last - most) : last]
    blocks, levels = [], []
    room = MAX_LEVELS
    for layer in question.layers:
        known = net.net.layers.get(layer)
        room -= known.grid.num_units * len(moments) if known is not None else 0
        block, of_block = _raster_block(nets, run, question, layer, moments if room >= 0 else ())
        blocks.append(block)
        levels.append(of_block)
    answer = messages.NetRasterAnswer(
        id=question.id, steps=[countable(step) or 0 for step in moments], blocks=blocks
    )
    return binary_frame(answer, frame_bytes(levels))


def _raster_block(
    nets: Nets, run: OpenRun, question: messages.NetRasterQuestion, layer: str, moments: Sequence[int]
) -> tuple[messages.NetBlock, Levels]:
    """A layer at a time has the lock, so that others have their turn in between."""
    if not moments:
        return block_of(layer, 0, NO_LEVELS, _TOO_MANY), NO_LEVELS
    with run.lock:
        net = nets.look(run, question.rank)
        last = find(net, layer, question.variable, moments[-1], question.item)
        if isinstance(last, str):
            return block_of(layer, 0, NO_LEVELS, last), NO_LEVELS
        found = {}  # by record: one may hold for several moments
        rows: list[Stretch | None] = []
        for step in moments:
            one = find(net, layer, question.variable, step, question.item)
            rows.append(one.stretch if isinstance(one, Found) else None)
            if isinstance(one, Found):
                found[one.stretch] = one
        numbers = dict(zip(found, read_stretches(net.reader, list(found)), strict=True))
    num_units = last.layer.grid.num_units
    types = [array.dtype for array in numbers.values() if array is not None]
    values = numpy.zeros((len(rows), num_units), numpy.result_type(*types) if types else numpy.float32)
    is_there = numpy.zeros((len(rows), num_units), dtype=numpy.bool_)
    for row, stretch in enumerate(rows):
        its = None if stretch is None else numbers[stretch]
        if stretch is not None and its is not None:
            values[row], mask = on_units(found[stretch], its)
            is_there[row] = True if mask is None else mask
    levels = levels_of(values, None if is_there.all() else is_there)
    return block_of(layer, last.stretch.mark.step, levels, "" if num_units else _NO_UNITS), levels


# SQLite goes through all of a record that stands before what is wanted of it.
_MAX_SKIPPED_BYTES: Final = 1 << 30
_AT_ONCE: Final = 128  # records, between which others may read the run, too


def layer_with(net: RankNet, name: str, unit: int) -> NetLayer:
    """InputError where there is no such layer, or no such unit in it."""
    layer = net.net.layers.get(name)
    if layer is None:
        raise InputError(f"there is no layer {name[:80]!r} in this run. Choose one of those that are shown.")
    if unit >= layer.grid.num_units:
        raise InputError(
            f"the layer {name[:80]!r} has {layer.grid.num_units:,} units: there is no unit {unit}."
        )
    return layer


def unit_stretch(found: Found | str, unit: int) -> Stretch | None:
    """Where the value of one unit is; None where it has none."""
    place = None if isinstance(found, str) else place_of(found, unit)
    if isinstance(found, str) or place is None:
        return None
    return Stretch(found.stretch.mark, found.stretch.start + place, 1)


def answer_unit(nets: Nets, run: OpenRun, question: messages.NetUnitQuestion) -> str:
    with run.lock:
        net = nets.look(run, question.rank)
        layer = layer_with(net, question.layer, question.unit)
        wanted = {
            variable: unit_stretch(
                find(net, layer.name, variable, question.step, question.item), question.unit
            )
            for variable in layer.variables
        }
        numbers = read_stretches(net.reader, list(wanted.values()))
    values: dict[str, float | str] = {}
    steps: dict[str, int] = {}
    for (variable, stretch), its in zip(wanted.items(), numbers, strict=True):
        if stretch is not None and its is not None:
            value = float(its[0])
            names = {math.inf: "Infinity", -math.inf: "-Infinity"}
            values[variable] = "NaN" if math.isnan(value) else names.get(value, value)
            steps[variable] = countable(stretch.mark.step) or 0
    return as_text(messages.NetUnitAnswer(id=question.id, values=values, steps=steps))


def answer_unit_series(nets: Nets, run: OpenRun, question: messages.NetUnitSeriesQuestion) -> bytes:
    with run.lock:
        net = nets.look(run, question.rank)
        layer = layer_with(net, question.layer, question.unit)
        wanted = {
            variable: _stretches(net, layer, variable, question)
            for variable in layer.variables
            if net.net.series.get((layer.name, variable)) in net.index.series
        }
    variables, counts, columns = [], [], []
    for variable, stretches in wanted.items():
        steps, values = _read_unit(run, nets, question.rank, stretches)
        variables.append(variable)
        counts.append(len(steps))
        columns += [numpy.array(steps, "<f8").tobytes(), numpy.array(values, "<f8").tobytes()]
    answer = messages.NetUnitSeriesAnswer(id=question.id, variables=variables, counts=counts)
    return binary_frame(answer, b"".join(columns))


def _stretches(
    net: RankNet, layer: NetLayer, variable: str, question: messages.NetUnitSeriesQuestion
) -> Sequence[Stretch]:
    marks = net.index.series[net.net.series[layer.name, variable]].between(question.low, question.high)
    most = question.most
    while True:
        found = (
            unit_stretch(found_in(net, layer, variable, mark, question.item), question.unit)
            for mark in evenly(marks, most)
        )
        some = [one for one in found if one is not None]
        skipped = sum(one.start * one.mark.outline.element_bytes for one in some)
        if skipped <= _MAX_SKIPPED_BYTES or most == 1:
            return some
        most = max(1, min(most, len(marks)) // 2)


def _read_unit(
    run: OpenRun, nets: Nets, rank: int, stretches: Sequence[Stretch]
) -> tuple[list[int], list[float]]:
    steps: list[int] = []
    values: list[float] = []
    for start in range(0, len(stretches), _AT_ONCE):
        some = stretches[start : start + _AT_ONCE]
        with run.lock:
            numbers = read_stretches(nets.look(run, rank).reader, some)
        for stretch, its in zip(some, numbers, strict=True):
            if its is not None:
                steps.append(countable(stretch.mark.step) or 0)
                values.append(float(its[0]))
    return steps, values


_MAX_WEIGHT_BYTES: Final = 1 << 28  # of one that is read
_MAX_CONNECTIONS: Final = 256  # of one unit
# What numbers of somebody else's making can lead to, beside the errors that say so.
_FAULTS: Final = (ValueError, IndexError, ArithmeticError, MemoryError)


class _Known(NamedTuple):
    """A connection of the unit, with what is needed to lay it out; or why that is not there."""

    connection: Connection
    other: NetLayer
    weight: Array | str
    step: int
    source_values: Array | None


def answer_weights(nets: Nets, run: OpenRun, question: messages.NetWeightsQuestion) -> bytes:
    by_layer: dict[str, list[_Known]] = {}  # at the other end
    with run.lock:
        net = nets.look(run, question.rank)
        layer = layer_with(net, question.layer, question.unit)
        ends = [
            (one, (one.target, one.source) if question.direction == "received" else (one.source, one.target))
            for one in net.net.scene.connections
        ]
        own = [(one, other) for one, (this, other) in ends if this == layer.name]
        for connection, other in own[:_MAX_CONNECTIONS]:
            found = _weight(nets, net, connection, question)
            weight, step = (found, 0) if isinstance(found, str) else (found[0], found[1].step)
            needs_source = connection.form == "embedding" and not isinstance(found, str)
            values = _values(net, connection.source, question) if needs_source else None
            known = _Known(connection, net.net.layers[other], weight, step, values)
            by_layer.setdefault(other, []).append(known)
        bias = _bias(net, layer, question)
    blocks, levels = [], []
    num_weights, room = 0, MAX_LEVELS
    for name, some in by_layer.items():
        room -= some[0].other.grid.num_units
        laid = [(one.step, _lay(one, layer, question)) for one in some] if room >= 0 else [(0, _TOO_MANY)]
        whys = [one for _, one in laid if isinstance(one, str)]
        good = [(step, one) for step, one in laid if not isinstance(one, str)]
        its, step = NO_LEVELS, 0
        if good:  # where several connections lead to a unit, they add up
            step = max(step for step, _ in good)
            num_weights += sum(int(numpy.count_nonzero(one.is_connected)) for _, one in good)
            added = functools.reduce(operator.add, [one.values for _, one in good])
            its = levels_of(added, functools.reduce(operator.or_, [one.is_connected for _, one in good]))
        blocks.append(block_of(name, step, its, "" if good else whys[-1]))
        levels.append(its)
    answer = messages.NetWeightsAnswer(id=question.id, blocks=blocks, bias=bias, num_weights=num_weights)
    return binary_frame(answer, frame_bytes(levels))


def _weight(
    nets: Nets, net: RankNet, connection: Connection, question: messages.NetWeightsQuestion
) -> tuple[Array, Mark] | str:
    if not connection.weight:
        return "there are no weights in between"
    is_attention = connection.form == "attention"
    if is_attention and question.variable != WEIGHT:
        return f"attention has no {question.variable}"
    name = weight_series(connection.weight, question.variable)
    mark = weight_mark(net, name, question.step)
    if isinstance(mark, str):
        return mark
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


def _values(net: RankNet, layer: str, question: messages.NetWeightsQuestion) -> Array | None:
    found = find(net, layer, "Act", question.step, question.item)
    if isinstance(found, str):
        return None
    (numbers,) = read_stretches(net.reader, [found.stretch])
    return None if numbers is None else on_units(found, numbers)[0]


def _bias(net: RankNet, layer: NetLayer, question: messages.NetWeightsQuestion) -> float | None:
    """Of the unit itself; None where it has none, or none that is a number."""
    name = net.net.series.get((layer.name, BIAS), "")
    series = net.index.series.get(weight_series(name, question.variable))
    mark = None if series is None else series.last_up_to(question.step)
    found = "" if mark is None else found_in(net, layer, BIAS, mark, question.item)
    (numbers,) = read_stretches(net.reader, [unit_stretch(found, question.unit)])
    value = math.nan if numbers is None else float(numbers[0])
    return value if math.isfinite(value) else None


def _lay(known: _Known, layer: NetLayer, question: messages.NetWeightsQuestion) -> UnitWeights | str:
    if isinstance(known.weight, str):
        return known.weight
    source, target = (known.other, layer) if question.direction == "received" else (layer, known.other)
    try:
        found = weights_of_unit(
            known.connection,
            known.weight,
            source.shape,
            target.shape,
            question.unit,
            direction=question.direction,
            source_values=known.source_values,
        )
    except InputError as error:
        return str(error)
    except _FAULTS:
        return "the weights do not fit the layers that they connect"
    if found.values.shape != (known.other.grid.num_units,):
        return "the weights do not fit the layers that they connect"
    return found
