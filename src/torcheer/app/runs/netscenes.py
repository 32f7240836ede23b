"""The network of a run: as a NetView wrote it, as a watched training names its layers, or by names alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from torcheer.app.runs.netchecks import (
    MAX_VARIABLE,
    MAX_WEIGHT_VARIABLE,
    checked,
    is_layer_name,
    sound_grid,
)
from torcheer.app.runs.netindex import RankIndex
from torcheer.netview import (
    RECEIVED,
    SCENE_FAULTS,
    SENT,
    WEIGHT,
    Series,
    Source,
    in_order,
    is_parameter,
    item_shape,
    made_scene,
    named_series,
    watched_series,
)
from torcheer.run import NetLayer, NetScene, RunReader

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
    """As of the last look at the run."""
    stored = _stored(reader, index)
    if stored is not None:
        scene, note = stored
        return _with_values(scene, _series_of(scene, index), index, "netview", note)
    rows = reader.watched.plan(rank).rows
    source: Source = "watch"
    series = _short(watched_series(rows, index.series))
    if not series:
        source, series, rows = "names", _short(named_series(index.series)), ()
    made = made_scene(series, rows, lambda name: index.series[name].extent, lay=sound_grid)
    scene, note = checked(made)
    return _with_values(scene, series, index, source, note)


def _short(series: Series) -> Series:
    """Without names that a page could not ask for."""
    return {
        (layer, variable): name
        for (layer, variable), name in series.items()
        if is_layer_name(layer) and len(variable) <= MAX_VARIABLE
    }


# --- as it was written ---------------------------------------------------------------------------


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


# --- with its values -------------------------------------------------------------------------------


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
        if variable != BIAS and layers[layer].has_items and _has_dims(index, name)
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


def _has_dims(index: RankIndex, name: str) -> bool:
    return name in index.series and len(index.series[name].extent) > 0


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
