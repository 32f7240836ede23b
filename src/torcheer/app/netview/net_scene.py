"""The network of a run: as a NetView wrote it, as a watched training names its layers, or by names alone.

Anybody may have written it: it is cut down to what a page can show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from torcheer.app.netview.tensor_index import RankIndex
from torcheer.app.passes.source import MAX_DIMS
from torcheer.app.wire import clipped
from torcheer.netview import (
    RECEIVED,
    SCENE_FAULTS,
    SENT,
    WEIGHT,
    Series,
    Source,
    grid_of,
    in_order,
    is_parameter,
    item_shape,
    named_series,
    plate_size,
    scene_from_series,
    watched_series,
)
from torcheer.run import Connection, Grid, NetLayer, NetScene, Place, RunReader

MAX_LAYERS: Final = 2048  # that a page can ask for
MAX_NAME: Final = 4096
MAX_VARIABLE: Final = 256
MAX_WEIGHT_VARIABLE: Final = 64
MAX_UNITS: Final = 1 << 26  # of a layer
_MAX_SIDE: Final = 1 << 24  # cells of a plate
_MAX_MAPS: Final = 1 << 17
_MAX_CONNECTIONS: Final = 1 << 14
_MAX_VARIABLES: Final = 256
_MAX_GEOMETRY: Final = 8  # numbers that a convolution has of each kind
_FURTHEST: Final = 1e4  # widths of a plate


def is_layer_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME


def sound_grid(shape: Sequence[int]) -> Grid:
    """As a page can draw it, whatever the shape: without units, or with more maps than anybody could see."""
    num_units = math.prod(shape)
    has_maps = num_units > 0 and math.prod(shape[:-2]) <= _MAX_MAPS
    return grid_of(shape if has_maps else (num_units,))


def checked(scene: NetScene) -> tuple[NetScene, str]:
    """What can be shown of it, and a note where that is not all."""
    layers: dict[str, NetLayer] = {}
    for layer in scene.layers:
        is_shape = len(layer.shape) <= MAX_DIMS and min(layer.shape, default=0) >= 0
        is_sound = is_layer_name(layer.name) and is_shape and math.prod(layer.shape) <= MAX_UNITS
        if layer.name not in layers and len(layers) < MAX_LAYERS and is_sound:
            layers[layer.name] = layer
    connections = [
        # No series has a name that a page could not ask for; without its weights it is an arrow still.
        one if len(one.weight) <= MAX_NAME else msgspec.structs.replace(one, weight="")
        for one in scene.connections
        if one.source in layers and one.target in layers and _is_geometry(one)
    ]
    num_left_out = len(scene.layers) - len(layers)
    note = f"{num_left_out:,} layers are left out: they are too many, or too large." if num_left_out else ""
    plain = [_plain_layer(layer, layers) for layer in layers.values()]
    return NetScene(layers=plain, connections=connections[:_MAX_CONNECTIONS]), note


def _plain_layer(layer: NetLayer, layers: dict[str, NetLayer]) -> NetLayer:
    variables = [one for one in dict.fromkeys(layer.variables) if 0 < len(one) <= MAX_VARIABLE]
    return msgspec.structs.replace(
        layer,
        module=clipped(layer.module, 200),
        note=clipped(layer.note, 500),
        variables=variables[:_MAX_VARIABLES],
        grid=layer.grid if _is_grid(layer.grid, math.prod(layer.shape)) else sound_grid(layer.shape),
        place=_plain_place(layer, layers),
    )


def _is_grid(grid: Grid, num_units: int) -> bool:
    """Whether every unit has a cell, on a plate of a size that can be drawn."""
    sizes = (grid.tiles_across, grid.tiles_down, grid.columns, grid.rows)
    if grid.num_units != num_units or min(sizes) < 1 or max(sizes) > _MAX_SIDE or not 0 <= grid.gap < 1 << 16:
        return False
    num_maps = 3 if grid.is_colour else 1
    return math.prod(sizes) * num_maps >= num_units and max(plate_size(grid)) <= _MAX_SIDE


def _plain_place(layer: NetLayer, layers: dict[str, NetLayer]) -> Place:
    place = layer.place
    offset = [float(number) for number in place.offset]
    is_far = len(offset) != 3 or not all(abs(number) <= _FURTHEST for number in offset)
    is_beside = place.relation is not None and place.other in layers and place.other != layer.name
    return Place(
        relation=place.relation if is_beside else None,
        other=place.other if is_beside else "",
        offset=[0.0, 0.0, 0.0] if is_far else offset,
        scale=place.scale if 1e-3 <= place.scale <= 1e3 else 1.0,
    )


def _is_geometry(connection: Connection) -> bool:
    numbers: Sequence[Sequence[int]] = (connection.stride, connection.padding, connection.dilation)
    return all(
        len(one) <= _MAX_GEOMETRY and all(-MAX_UNITS <= number <= MAX_UNITS for number in one)
        for one in (*numbers, (connection.groups,))
    )


BIAS: Final = "Bias"
_MAX_SCENE_BYTES: Final = 64 << 20
_CONVOLUTIONS: Final = frozenset(("conv", "transposed_conv"))
_MODULES_BY_MAP: Final = ("Conv", "LazyConv", "BatchNorm", "GroupNorm", "InstanceNorm")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScene:
    """The network of one rank, and where its values are."""

    scene: NetScene
    source: Source
    note: str
    num_items: int
    layers: Mapping[str, NetLayer]
    series: Series
    by_map: frozenset[str]  # layers with one bias for each map, not for each feature
    weight_variables: tuple[str, ...]  # r.Wt, s.Wt…
    variables: tuple[str, ...]  # all, in the order in which they are shown


def scene_of(reader: RunReader, rank: int, index: RankIndex) -> RunScene:
    stored = _stored(reader, index)
    if stored is not None:
        scene, note = stored
        return _with_values(scene, _series_of(scene, index), index, "netview", note)
    rows = reader.watched.plan(rank).rows
    source: Source = "watch"
    series = _short(watched_series(rows, index.series))
    if not series:
        source, series, rows = "names", _short(named_series(index.series)), ()
    made = scene_from_series(series, rows, lambda name: index.series[name].extent, lay=sound_grid)
    scene, note = checked(made)
    return _with_values(scene, series, index, source, note)


def _short(series: Series) -> Series:
    """Without names that a page could not ask for."""
    return {
        (layer, variable): name
        for (layer, variable), name in series.items()
        if is_layer_name(layer) and len(variable) <= MAX_VARIABLE
    }


def _stored(reader: RunReader, index: RankIndex) -> tuple[NetScene, str] | None:
    """None where there is none that could be read."""
    if index.scene is None or not 0 < index.scene[2] <= _MAX_SCENE_BYTES:
        return None
    part, number, _ = index.scene
    data = reader.data(f"{part}:{number}")
    try:
        scene = None if data is None else msgspec.json.decode(data, type=NetScene)
    except SCENE_FAULTS:
        return None
    return None if scene is None else checked(scene)


def _series_of(scene: NetScene, index: RankIndex) -> dict[tuple[str, str], str]:
    """A name is split at the last dot that leaves a layer before it."""
    layers = {layer.name: layer for layer in scene.layers}
    weights = {connection.weight for connection in scene.connections}
    found = {}
    for name, series in index.series.items():
        split = _split(name, layers)
        if split is None:
            continue
        layer, variable = layers[split[0]], split[1]
        shape = series.extent
        if variable not in layer.variables and (
            name in weights
            or is_parameter(variable)
            or math.prod(item_shape(shape, layer.has_items)) != layer.grid.num_units
        ):
            continue
        found[split] = name
    for layer in scene.layers:
        for variable in layer.variables:  # which may have no values yet
            found.setdefault((layer.name, variable), f"{layer.name}.{variable}")
    return found


def _split(name: str, layers: Mapping[str, object]) -> tuple[str, str] | None:
    at = name.rfind(".")
    while at > 0:
        if name[:at] in layers and 0 < len(name) - at - 1 <= MAX_VARIABLE:
            return name[:at], name[at + 1 :]
        at = name.rfind(".", 0, at)
    return None


def _with_values(scene: NetScene, named: Series, index: RankIndex, source: Source, note: str) -> RunScene:
    layers = {layer.name: layer for layer in scene.layers}
    series = {key: name for key, name in named.items() if key[0] in layers}
    for layer, name in _biases(scene, index).items():
        # A piece of a layer has other units than its bias is for.
        is_piece = source == "watch" and layers[layer].note != ""
        if not is_piece and series.get((layer, BIAS)) not in index.series:
            series[layer, BIAS] = name
    of_layer: dict[str, list[str]] = {layer: [] for layer in layers}
    for layer, variable in series:
        of_layer[layer].append(variable)
    replaced = [
        msgspec.structs.replace(layer, variables=in_order(of_layer[layer.name])) for layer in scene.layers
    ]
    weights = _weight_variables(scene, index)
    items = [
        index.series[name].extent[0]
        for (layer, variable), name in series.items()
        if variable != BIAS and layers[layer].has_items and name in index.series and index.series[name].extent
    ]
    return RunScene(
        scene=msgspec.structs.replace(scene, layers=replaced),
        source=source,
        note=note,
        num_items=max(items, default=1),
        layers={layer.name: layer for layer in replaced},
        series=series,
        by_map=_by_map(scene),
        weight_variables=tuple(weights),
        variables=tuple(in_order([*(variable for _, variable in series), *weights])),
    )


def _biases(scene: NetScene, index: RankIndex) -> dict[str, str]:
    """By layer, the vector that is added in it, where that is in the run."""
    names = {layer.name: [f"{layer.name}.bias"] for layer in scene.layers}
    for connection in scene.connections:
        if connection.bias is not None:
            names[connection.target] = [connection.bias]
        elif connection.weight.endswith("weight"):
            names[connection.target].insert(0, f"{connection.weight.removesuffix('weight')}bias")
    found = {}
    for layer, its in names.items():
        known = (name for name in its if name in index.series)
        name = next((name for name in known if len(index.series[name].extent) == 1), None)
        if name is not None:
            found[layer] = name
    return found


def _by_map(scene: NetScene) -> frozenset[str]:
    forms: dict[str, set[str]] = {}
    for connection in scene.connections:
        if connection.weight:
            forms.setdefault(connection.target, set()).add(connection.form)
    by_module = {layer.name for layer in scene.layers if layer.module.startswith(_MODULES_BY_MAP)}
    by_form = {layer for layer, its in forms.items() if its & _CONVOLUTIONS}
    return frozenset(by_form | (by_module - forms.keys()))


def _weight_variables(scene: NetScene, index: RankIndex) -> list[str]:
    """r.Wt, s.Wt and what else there is of weights, of those of which there are records."""
    found: dict[str, None] = {}
    weights = {one.weight: one.form for one in scene.connections if one.weight in index.series}
    if weights:
        found[WEIGHT] = None
    plain = {name: form for name, form in weights.items() if form != "attention"}
    for name in index.series:
        split = _split(name, plain)
        if split is not None and len(split[1]) <= MAX_WEIGHT_VARIABLE:
            found[split[1]] = None
    return [end + what for what in found for end in (RECEIVED, SENT)]
