"""One unit: all its variables at a moment, exactly, and each of them over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy

from torcheer.app.frames import as_json, binary_frame
from torcheer.app.netmessages import (
    NetUnitAnswer,
    NetUnitQuestion,
    NetUnitSeriesAnswer,
    NetUnitSeriesQuestion,
)
from torcheer.app.runs.listing import countable
from torcheer.app.runs.netfinding import Found, Stretch, find, found_in, place_of, read_stretches
from torcheer.app.runs.netindex import Mark
from torcheer.app.runs.nets import Nets, RankNet
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.recorded import evenly
from torcheer.errors import InputError
from torcheer.run import NetLayer

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


def answer_unit(nets: Nets, run: OpenRun, question: NetUnitQuestion) -> str:
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
    return as_json(NetUnitAnswer(id=question.id, values=values, steps=steps)).decode()


def _plain(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


# --- over time -----------------------------------------------------------------------------------


def answer_unit_series(nets: Nets, run: OpenRun, question: NetUnitSeriesQuestion) -> bytes:
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
        steps, values = _read(run, nets, question.rank, stretches)
        variables.append(variable)
        counts.append(len(steps))
        columns += [numpy.array(steps, "<f8").tobytes(), numpy.array(values, "<f8").tobytes()]
    answer = NetUnitSeriesAnswer(id=question.id, variables=variables, counts=counts)
    return binary_frame(answer, b"".join(columns))


def _stretches(
    net: RankNet, layer: NetLayer, variable: str, question: NetUnitSeriesQuestion
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
    net: RankNet, layer: NetLayer, variable: str, mark: Mark, question: NetUnitSeriesQuestion
) -> Stretch | None:
    found = found_in(net.net, layer, variable, mark, question.item)
    return None if isinstance(found, str) else unit_stretch(found, question.unit)


def _read(run: OpenRun, nets: Nets, rank: int, stretches: Sequence[Stretch]) -> tuple[list[int], list[float]]:
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
