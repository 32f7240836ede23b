"""Values of layers at a moment and over the last moments, as levels; all variables of one unit, exactly."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import numpy

from torcheer.app.net import messages
from torcheer.app.net.follow import steps_of
from torcheer.app.net.index import Mark
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
    place_of,
    read_stretches,
)
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_records import evenly
from torcheer.app.wire import as_text, binary_frame, clipped, countable
from torcheer.errors import InputError
from torcheer.run import NetLayer
from torcheer.tensorfile import Array

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


# --- at a moment -------------------------------------------------------------------------------


def answer_values(nets: Nets, run: OpenRun, question: messages.NetValuesQuestion) -> bytes:
    with run.lock:
        net = nets.look(run, question.rank)
        found = _affordable(
            [
                find(net.net, net.index, layer, question.variable, question.step, question.item)
                for layer in question.layers
            ]
        )
        numbers = _read(net, found)
    done = [_block(*one) for one in zip(question.layers, found, numbers, strict=True)]
    answer = messages.NetValuesAnswer(id=question.id, step=question.step, blocks=[block for block, _ in done])
    return binary_frame(answer, frame_bytes([levels for _, levels in done]))


def _affordable(found: Sequence[Found | str]) -> list[Found | str]:
    """As many as there is room for in an answer. Nothing is read, or made room for, before."""
    room, kept = MAX_LEVELS, []
    for one in found:
        if isinstance(one, Found):
            room -= one.layer.grid.num_units
            one = _TOO_MANY if room < 0 else one
        kept.append(one)
    return kept


def _read(net: RankNet, found: Sequence[Found | str]) -> list[Array | None]:
    places = [place for place, one in enumerate(found) if isinstance(one, Found)]
    wanted = [one.stretch for one in found if isinstance(one, Found)]
    numbers: list[Array | None] = [None] * len(found)
    for place, its in zip(places, read_stretches(net.reader, wanted), strict=True):
        numbers[place] = its
    return numbers


def _block(layer: str, found: Found | str, numbers: Array | None) -> tuple[messages.NetBlock, Levels]:
    if isinstance(found, str):
        return block_of(layer, 0, NO_LEVELS, found), NO_LEVELS
    step = found.stretch.mark.step
    if numbers is None:
        return block_of(layer, step, NO_LEVELS, _GONE), NO_LEVELS
    levels = levels_of(*on_units(found, numbers))
    why = "" if levels.codes.size else _NO_UNITS
    return block_of(layer, step, levels, why), levels


# --- over the last moments -----------------------------------------------------------------------


def answer_raster(nets: Nets, run: OpenRun, question: messages.NetRasterQuestion) -> bytes:
    with run.lock:
        net = nets.look(run, question.rank)
        steps = steps_of(net)
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
        last = find(net.net, net.index, layer, question.variable, moments[-1], question.item)
        if isinstance(last, str):
            return block_of(layer, 0, NO_LEVELS, last), NO_LEVELS
        found = {}  # by record: one may hold for several moments
        rows: list[Stretch | None] = []
        for step in moments:
            one = find(net.net, net.index, layer, question.variable, step, question.item)
            rows.append(one.stretch if isinstance(one, Found) else None)
            if isinstance(one, Found):
                found[one.stretch] = one
        numbers = dict(zip(found, read_stretches(net.reader, list(found)), strict=True))
    num_units = last.layer.grid.num_units
    values = numpy.zeros((len(rows), num_units), dtype=_common_type(list(numbers.values())))
    is_there = numpy.zeros((len(rows), num_units), dtype=numpy.bool_)
    for row, stretch in enumerate(rows):
        its = None if stretch is None else numbers[stretch]
        if stretch is not None and its is not None:
            values[row], mask = on_units(found[stretch], its)
            is_there[row] = True if mask is None else mask
    levels = levels_of(values, None if is_there.all() else is_there)
    return block_of(layer, last.stretch.mark.step, levels, "" if num_units else _NO_UNITS), levels


def _common_type(arrays: Sequence[Array | None]) -> numpy.dtype[numpy.generic]:
    some = [array.dtype for array in arrays if array is not None]
    return numpy.result_type(*some) if some else numpy.dtype(numpy.float32)


# --- one unit -------------------------------------------------------------------------------------


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


def unit_stretch(found: Found, unit: int) -> Stretch | None:
    """Where the value of one unit is; None where it has none."""
    place = place_of(found, unit)
    return None if place is None else Stretch(found.stretch.mark, found.stretch.start + place, 1)


# --- at a moment ---------------------------------------------------------------------------------


def answer_unit(nets: Nets, run: OpenRun, question: messages.NetUnitQuestion) -> str:
    with run.lock:
        net = nets.look(run, question.rank)
        layer = layer_with(net, question.layer, question.unit)
        wanted: dict[str, Stretch] = {}
        for variable in layer.variables:
            found = find(net.net, net.index, layer.name, variable, question.step, question.item)
            stretch = None if isinstance(found, str) else unit_stretch(found, question.unit)
            if stretch is not None:
                wanted[variable] = stretch
        numbers = read_stretches(net.reader, list(wanted.values()))
    values: dict[str, float | str] = {}
    steps: dict[str, int] = {}
    for (variable, stretch), its in zip(wanted.items(), numbers, strict=True):
        if its is not None:
            values[variable] = _plain(float(its[0]))
            steps[variable] = countable(stretch.mark.step) or 0
    return as_text(messages.NetUnitAnswer(id=question.id, values=values, steps=steps))


def _plain(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


# --- over time -----------------------------------------------------------------------------------


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
        found = [_stretch(net, layer, variable, mark, question) for mark in evenly(marks, most)]
        some = [one for one in found if one is not None]
        skipped = sum(one.start * one.mark.outline.element_bytes for one in some)
        if skipped <= _MAX_SKIPPED_BYTES or most == 1:
            return some
        most = max(1, min(most, len(marks)) // 2)


def _stretch(
    net: RankNet, layer: NetLayer, variable: str, mark: Mark, question: messages.NetUnitSeriesQuestion
) -> Stretch | None:
    found = found_in(net.net, layer, variable, mark, question.item)
    return None if isinstance(found, str) else unit_stretch(found, question.unit)


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
