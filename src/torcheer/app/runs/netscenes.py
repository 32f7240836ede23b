"""The network of a run: as a NetView wrote it, as a watched training names its layers, or by names alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from torcheer.app.runs.netchecks import (
    MAX_LAYERS,
    MAX_UNITS,
    MAX_VARIABLE,
    MAX_WEIGHT_VARIABLE,
    checked,
    is_layer_name,
    sound_grid,
)
from torcheer.app.runs.netindex import RankIndex
from torcheer.graph.rows import shape_text
from torcheer.netview.variables import RECEIVED, SENT, WEIGHT, in_order
from torcheer.run.netscene import NetLayer, NetScene, Place
from torcheer.run.reading.reader import RunReader
from torcheer.run.records import WatchedRow

Source = Literal["netview", "watch", "names"]

BIAS: Final = "Bias"
_MAX_SCENE_BYTES: Final = 64 << 20
_CONVOLUTIONS: Final = frozenset(("conv", "transposed_conv"))
_MODULES_BY_MAP: Final = ("Conv", "LazyConv", "BatchNorm", "GroupNorm", "InstanceNorm")
_MODEL: Final = "(model)"  # what the model itself gives has no name in front of it
_ROLES: Final = ("activation", "gradient", "tensor")
# As torch names parameters: weight, in_proj_weight, weight_ih_l0, weight_g; they are nobody's state.
_PARAMETER: Final = re.compile(r"(.*_)?(weight|bias)(_(ih|hh)_l\d+(_reverse)?|_[guv]|_orig)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScene:
    """The network of one rank, and where its values are."""

    scene: NetScene
    source: Source
    note: str
    num_items: int
    layers: Mapping[str, NetLayer]
    series: Mapping[tuple[str, str], str]  # by layer and variable
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
    named = _watched(rows, index)
    if named:
        modules = {_layer_name(row): row.module for row in rows if row.module}
        whole = {row.name: row.shape for row in rows if row.shape is not None}
        scene, note = _made(named, index, modules, whole)
        return _with_values(scene, named, index, "watch", note)
    named = _by_names(index)
    scene, note = _made(named, index, {}, {})
    return _with_values(scene, named, index, "names", note)


# --- as it was written ---------------------------------------------------------------------------


def _stored(reader: RunReader, index: RankIndex) -> tuple[NetScene, str] | None:
    """None where there is none that could be read."""
    if index.scene is None or not 0 < index.scene[2] <= _MAX_SCENE_BYTES:
        return None
    part, number, _ = index.scene
    data = reader.data(f"{part}:{number}")
    try:
        scene = None if data is None else msgspec.json.decode(data, type=NetScene)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
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


def is_parameter(variable: str) -> bool:
    """weight, weight.Grad, bias…"""
    return _PARAMETER.fullmatch(variable.partition(".")[0]) is not None


def item_shape(shape: Sequence[int], has_items: bool) -> tuple[int, ...]:
    return tuple(shape[1:] if has_items else shape)


# --- by what is watched, or by names ---------------------------------------------------------------


def _watched(rows: Iterable[WatchedRow], index: RankIndex) -> dict[tuple[str, str], str]:
    """Of what is watched, that of which there are tensors."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        name, variable = _layer_name(row), row.variable or "Act"
        is_short = is_layer_name(name) and len(variable) <= MAX_VARIABLE
        if row.role in _ROLES and row.name in index.series and is_short:
            found.setdefault((name, variable), row.name)
    return found


def _layer_name(row: WatchedRow) -> str:
    return row.layer or _MODEL


def _by_names(index: RankIndex) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for name in index.series:
        layer, _, variable = name.rpartition(".")
        is_short = is_layer_name(layer) and 0 < len(variable) <= MAX_VARIABLE
        if is_short and not is_parameter(variable) and not is_parameter(layer.rpartition(".")[2]):
            found[layer, variable] = name
    return found


def _made(
    named: Mapping[tuple[str, str], str],
    index: RankIndex,
    modules: Mapping[str, str],
    whole: Mapping[str, Sequence[int]],
) -> tuple[NetScene, str]:
    """Layers in the order in which they came. Nothing is known of what connects them."""
    variables: dict[str, list[str]] = {}
    for layer, variable in named:
        variables.setdefault(layer, []).append(variable)
    layers: list[NetLayer] = []
    num_left_out = 0
    for name, its in variables.items():
        main = named[name, in_order(its)[0]]
        recorded = index.series[main].extent
        has_items = len(recorded) > 1
        shape = item_shape(recorded, has_items)
        if len(layers) == MAX_LAYERS or math.prod(shape) > MAX_UNITS:
            num_left_out += 1
            continue
        layers.append(
            NetLayer(
                name=name,
                module=modules.get(name, "")[:200],
                shape=list(shape),
                grid=sound_grid(shape),
                variables=its,
                place=Place(),
                has_items=has_items,
                note=_piece_note(shape, item_shape(whole.get(main, recorded), has_items)),
            )
        )
    note = f"{num_left_out:,} layers are left out: they are too many, or too large." if num_left_out else ""
    return NetScene(layers=layers, connections=[]), note


def _piece_note(shape: Sequence[int], whole: Sequence[int]) -> str:
    if tuple(shape) == tuple(whole):
        return ""
    return f"a piece of {shape_text(tuple(whole))}, every so many-th in each dimension"


# --- with its values -------------------------------------------------------------------------------


def _with_values(
    scene: NetScene, named: Mapping[tuple[str, str], str], index: RankIndex, source: Source, note: str
) -> RunScene:
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
        if connection.weight.endswith("weight"):
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
