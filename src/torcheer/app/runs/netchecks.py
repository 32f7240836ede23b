"""Is a scene one that a page can show? What anybody may have written is cut down to that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from torcheer.app.messages import MAX_DIMS
from torcheer.app.runs.listing import clipped
from torcheer.netview import grid_of, plate_size
from torcheer.run import Connection, Grid, NetLayer, NetScene, Place

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
        if layer.name not in layers and len(layers) < MAX_LAYERS and _is_sound(layer):
            layers[layer.name] = layer
    connections = [
        _plain_connection(one)
        for one in scene.connections
        if one.source in layers and one.target in layers and _is_geometry(one)
    ]
    num_left_out = len(scene.layers) - len(layers)
    note = f"{num_left_out:,} layers are left out: they are too many, or too large." if num_left_out else ""
    plain = [_plain_layer(layer, layers) for layer in layers.values()]
    return NetScene(layers=plain, connections=connections[:_MAX_CONNECTIONS]), note


def _is_sound(layer: NetLayer) -> bool:
    shape = layer.shape
    if not is_layer_name(layer.name) or len(shape) > MAX_DIMS or min(shape, default=0) < 0:
        return False
    return math.prod(shape) <= MAX_UNITS


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


def _plain_connection(connection: Connection) -> Connection:
    # No series has a name that a page could not ask for; without its weights it is an arrow still.
    is_named = len(connection.weight) <= MAX_NAME
    return connection if is_named else msgspec.structs.replace(connection, weight="")
