"""The network of a run: its scene, values of layers, weights of units, as arrays. No torch."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.graph import shape_text
from torcheer.netview.scene import check_name, grid_of, in_order
from torcheer.netview.unit_weights import Direction, weights_of_unit
from torcheer.run import (
    NETVIEW,
    Connection,
    Grid,
    NetLayer,
    NetScene,
    Place,
    ReadMethods,
    RunReader,
    TensorHead,
    TensorRecord,
    WatchedRow,
    reader_of,
    record_id,
)

Source = Literal["netview", "watch", "names"]
Series = Mapping[tuple[str, str], str]  # names of tensors, by layer and variable

SCENE_FAULTS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_MODEL: Final = "(model)"  # what the model itself gives has no name in front of it
_USUAL_VARIABLE: Final = "Act"
_ROLES: Final = ("activation", "gradient", "tensor")
# As torch names parameters: weight, in_proj_weight, weight_ih_l0, weight_g; they are nobody's state.
_PARAMETER: Final = re.compile(r"(.*_)?(weight|bias)(_(ih|hh)_l\d+(_reverse)?|_[guv]|_orig)?")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundScene:
    """A network, and where its values are."""

    scene: NetScene
    source: Source
    series: Series  # empty where each is `layer.variable`, as it was written

    def series_of(self, layer: str, variable: str) -> str:
        return self.series.get((layer, variable), f"{layer}.{variable}")


def found_scene(reader: RunReader) -> FoundScene:
    """As of the last look at the run; of several ranks that were watched, the first."""
    stored = last_scene(reader)
    if stored is not None:
        return FoundScene(scene=stored, source="netview", series={})
    rank = next(iter(reader.watched.ranks()), 0)
    prefix = f"rank {rank}/" if rank else ""
    names = [key.name for key in reader.series() if key.kind == "tensor"]
    whole = {name.removeprefix(prefix): name for name in names}
    rows: Sequence[WatchedRow] = reader.watched.plan(rank).rows
    source: Source = "watch"
    series = watched_series(rows, whole)
    if not series:
        source, series, rows = "names", named_series(whole), ()
    scene = scene_from_series(series, rows, lambda name: _extent(reader, whole[name]))
    return FoundScene(scene=scene, source=source, series={key: whole[name] for key, name in series.items()})


def _extent(reader: RunReader, name: str) -> tuple[int, ...]:
    """The largest shape of a tensor: sequences are not always of one length."""
    extent: tuple[int, ...] = ()
    for entry in reader.records("tensor", name):
        if isinstance(entry.head, TensorHead):
            shape = tuple(entry.head.shape)
            # Of different numbers of dimensions, the one that came last.
            extent = tuple(map(max, extent, shape)) if len(extent) == len(shape) else shape or extent
    return extent


def last_scene(reader: RunReader) -> NetScene | None:
    """The network as it was last written; None where there is none, or none that can be read."""
    return next(written_scenes(reader), None)


def written_scenes(reader: RunReader) -> Iterator[NetScene]:
    """All that can be read, the last one first."""
    entries = sorted(reader.records("netview", NETVIEW), key=lambda entry: (entry.time, entry.id))
    for entry in reversed(entries):
        with suppress(*SCENE_FAULTS):  # the one before it is better than none
            yield msgspec.json.decode(reader.data(record_id(entry)) or b"", type=NetScene)


def is_known(scene: NetScene, before: Iterable[NetScene], *, is_growing: bool) -> bool:
    """Whether a run with these scenes is of the same network: its layers have the same names and shapes.

    Where they had several shapes already, as sequences have, these say nothing. A network that is growing may
    have some of the layers only. Where nothing was shown before, anything goes.
    """
    now = {layer.name: tuple(layer.shape) for layer in scene.layers}
    shapes: dict[str, set[tuple[int, ...]]] = {}
    has_any = False
    for one in before:
        has_any = True
        then = {layer.name: tuple(layer.shape) for layer in one.layers}
        common = now.keys() & then.keys()
        if len(common) < (min(len(now), len(then)) if is_growing else len(now.keys() | then.keys())):
            continue
        for name in common:
            shapes.setdefault(name, set()).add(then[name])
        if all(now[name] in shapes[name] or len(shapes[name]) > 1 for name in common):
            return True
    return not has_any


def watched_series(rows: Iterable[WatchedRow], there: Collection[str]) -> dict[tuple[str, str], str]:
    """Of what is watched, that of which there are tensors. `there` are their names."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.role in _ROLES and row.name in there:
            found.setdefault((_layer_name(row), row.variable or _USUAL_VARIABLE), row.name)
    return found


def named_series(there: Iterable[str]) -> dict[tuple[str, str], str]:
    """Of tensors whose names are a layer and, behind the last dot, a variable."""
    found: dict[tuple[str, str], str] = {}
    for name in there:
        layer, _, variable = name.rpartition(".")
        if layer and variable and not is_parameter(variable) and not is_parameter(layer.rpartition(".")[2]):
            found[layer, variable] = name
    return found


def scene_from_series(
    series: Series,
    rows: Iterable[WatchedRow],
    extent_of: Callable[[str], Sequence[int]],
    lay: Callable[[Sequence[int]], Grid] = grid_of,
) -> NetScene:
    """Layers in the order in which they came. Nothing is known of what connects them.

    `extent_of` gives the largest shape that a tensor was recorded with, `lay` the grid of an item.
    """
    modules, whole = {}, {}
    for row in rows:
        if row.module:
            modules[_layer_name(row)] = row.module
        if row.shape is not None:
            whole[row.name] = row.shape
    variables: dict[str, list[str]] = {}
    for layer, variable in series:
        variables.setdefault(layer, []).append(variable)
    layers = []
    for name, its in variables.items():
        main = series[name, in_order(its)[0]]
        recorded = extent_of(main)
        has_items = len(recorded) > 1
        shape, watched = (item_shape(one, has_items) for one in (recorded, whole.get(main, recorded)))
        is_piece = shape != watched
        note = f"a piece of {shape_text(watched)}, every so many-th in each dimension" if is_piece else ""
        layers.append(
            NetLayer(
                name=name,
                module=modules.get(name, ""),
                shape=list(shape),
                grid=lay(shape),
                variables=its,
                place=Place(),
                has_items=has_items,
                note=note,
            )
        )
    return NetScene(layers=layers, connections=[])


def is_parameter(variable: str) -> bool:
    """weight, weight.Grad, bias…"""
    return _PARAMETER.fullmatch(variable.partition(".")[0]) is not None


def item_shape(shape: Sequence[int], has_items: bool) -> tuple[int, ...]:
    return tuple(shape[1:] if has_items else shape)


def _layer_name(row: WatchedRow) -> str:
    return row.layer or _MODEL


Array = NDArray[Any]


def values_of(run: ReadMethods, found: FoundScene, name: str, step: int | None, item: int) -> Array:
    """One variable of one layer: `conv1.Act`, of one item, at a moment or the last one up to then."""
    layer, variable = layer_and_variable(found.scene, name)
    series = name if layer is None else found.series_of(layer.name, variable)
    array = _record(run, series, step).array
    # A parameter has no items. A variable may have had another shape before: sequences differ in length.
    is_of_layer = layer is not None and (variable in layer.variables or list(array.shape[1:]) == layer.shape)
    if layer is None or not layer.has_items or not is_of_layer or not array.ndim:
        return array
    return _item(array, item, name)


def weights_of(
    run: ReadMethods,
    network: FoundScene,
    name: str,
    unit: int | Sequence[int],
    direction: Direction,
    step: int | None,
    *,
    item: int = 0,
    variable: str = "Wt",
) -> dict[str, Array]:
    """By the layer at the other end: what connects its units with this one; NaN where nothing does."""
    if direction not in ("received", "sent"):
        raise InputError(f"the direction is {direction!r}: a unit has weights that it 'received' or 'sent'.")
    layers = {layer.name: layer for layer in network.scene.layers}
    check_name(name, layers)
    number = unit_number(layers[name], unit)
    found: dict[str, Array] = {}
    for connection in network.scene.connections:
        end, other = (connection.target, connection.source)
        if direction == "sent":
            end, other = other, end
        if end != name or connection.form == "other" or not connection.weight:
            continue
        weight = _weight(run, connection, step, item, variable)
        source, target = layers[connection.source], layers[connection.target]
        ids = None
        if connection.form == "embedding":  # which finds its weights by the tokens
            ids = values_of(run, network, f"{connection.source}.Act", step, item)
        laid = weights_of_unit(
            connection, weight, source.shape, target.shape, number, direction=direction, source_values=ids
        )
        wide = numpy.promote_types(laid.values.dtype, numpy.float64)
        array = numpy.where(laid.is_connected, laid.values.astype(wide), numpy.nan)
        found[other] = array.reshape(layers[other].shape)
    return found


def why_no_weights(network: FoundScene, name: str, direction: Direction) -> str:
    """Where `weights_of` finds none."""
    if network.source != "netview":
        return (
            "what a watched run has says nothing of what connects its layers, so there are no weights of a "
            "unit: tl.NetView(model, x) records both."
        )
    is_received = direction == "received"
    ends = [(one.target, one.source) for one in network.scene.connections]
    others = [pair[is_received] for pair in ends if pair[not is_received] == name]
    what = "nothing leads to it" if is_received else "it leads to nothing that is shown"
    if others:
        what = f"between it and {', '.join(dict.fromkeys(others))} there are none, or they are not known"
    return f"{name} has no weights that it {direction}: {what}."


def layer_and_variable(scene: NetScene, name: str) -> tuple[NetLayer | None, str]:
    """Split at the last dot that leaves a layer."""
    layers = {layer.name: layer for layer in scene.layers}
    front = name
    while "." in front:
        front = front.rpartition(".")[0]
        if front in layers:
            return layers[front], name[len(front) + 1 :]
    return None, name


def unit_number(layer: NetLayer, unit: int | Sequence[int]) -> int:
    """A unit by its flat number, or by its index in the tensor of one item."""
    num_units = prod(layer.shape)
    number = _whole(unit)
    if number is None:
        try:
            index = tuple(operator.index(part) for part in unit)  # type: ignore[union-attr]
            number = int(numpy.ravel_multi_index(index, tuple(layer.shape))) if index or layer.shape else 0
        except (ValueError, TypeError):
            raise InputError(f"{layer.name} has the shape {tuple(layer.shape)}: no unit {unit!r}.") from None
    if not 0 <= number < num_units:
        raise InputError(f"there is no unit {unit} in {layer.name}: it has {num_units:,}, counted from 0.")
    return number


def _whole(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None


def _item(array: Array, item: int, name: str) -> Array:
    number = _whole(item)
    if number is None or not 0 <= number < len(array):
        raise InputError(f"there is no item {item!r} of {name}: {len(array)} were kept, counted from 0.")
    found: Array = array[number]
    return found


def _record(run: ReadMethods, name: str, step: int | None) -> TensorRecord:
    """The last one up to a step, which may lie behind it, but not behind the last moment of the run."""
    if name.endswith(".Grad") and name not in run.names("tensor"):
        raise InputError(
            f"{name} was not recorded: gradients need a loss, tl.NetView(model, x, loss=…), or with "
            "tl.State a backward pass; and there is no way from it to the loss, or it is not kept."
        )
    records = run.tensors(name)
    if step is None:
        return records[-1]
    # What has not changed since is not recorded again: any series says how far the run is.
    series = reader_of(run).series().items()
    last = max(entry.last_step for key, entry in series if key.kind in ("tensor", "moment"))
    number = _whole(step)
    place = 0 if number is None else int(numpy.searchsorted(records.steps, number, side="right"))
    if number is None or number > last or not place:
        raise InputError(
            f"there is no step {step!r} of {name}: its first record is of step {records.steps[0]}, and the "
            f"last moment of the run is {last}."
        )
    return records[place - 1]


def _weight(run: ReadMethods, connection: Connection, step: int | None, item: int, variable: str) -> Array:
    weight = connection.weight
    name = weight if variable == "Wt" else f"{weight}.{variable}"
    names = run.names("tensor")
    if weight not in names:
        raise InputError(f"{weight} was not recorded: tl.NetView(…, weights='all') keeps all weights.")
    if name not in names:
        inside = f"{weight}."
        there = ", ".join(["Wt", *(one.removeprefix(inside) for one in names if one.startswith(inside))])
        raise InputError(
            f"{variable} of {weight} was not recorded: there is {there}. Grad needs tl.NetView(…, loss=…), "
            "Delta a change since the first moment, and what an optimizer keeps is there with optimizer=…, "
            "from its first step on."
        )
    array = _record(run, name, step).array
    return _item(array, item, name) if connection.form == "attention" else array
