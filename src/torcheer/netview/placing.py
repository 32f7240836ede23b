"""Where somebody wants layers, and in which shape: kept apart from what a pass shows, and laid over it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec

from torcheer.errors import InputError
from torcheer.netview.grids import grid_of, manual_grid
from torcheer.run import Grid, NetLayer, NetScene, Place

RELATIONS: Final[tuple[str, ...]] = ("above", "below", "rightof", "leftof", "infront", "behind")
_MOST_LISTED: Final = 8  # layers, in a message


class Arrangement:
    """Places and shapes by layer. A layer of which nothing is said lies where it lies by itself."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._grids: dict[str, Grid] = {}

    @classmethod
    def of(cls, scene: NetScene) -> Arrangement:
        """What was wanted in a scene that was kept."""
        found = cls()
        for layer in scene.layers:
            if layer.place != Place():
                found._places[layer.name] = layer.place
            if layer.grid != grid_of(layer.shape, is_picture=layer.is_input):
                found._grids[layer.name] = layer.grid
        return found

    def place(
        self,
        name: str,
        names: Collection[str],
        relations: dict[str, str | None],
        offset: Sequence[float],
        scale: float,
    ) -> None:
        check_name(name, names)
        given = {relation: other for relation, other in relations.items() if other is not None}
        if len(given) > 1:
            raise InputError(f"{name} is to be {' and '.join(given)}: give one of {', '.join(RELATIONS)}.")
        for other in given.values():
            check_name(other, names)
        relation = next(iter(given), None)
        other = given.get(relation or "", "")
        self._check_round(name, other)
        self._places[name] = Place(
            relation=relation,  # type: ignore[arg-type]  # one of the six
            other=other,
            offset=_three_numbers(offset),
            scale=_scale(scale),
        )

    def reshape(self, name: str, shape: Sequence[int], layers: Sequence[NetLayer]) -> None:
        check_name(name, [layer.name for layer in layers])
        layer = next(layer for layer in layers if layer.name == name)
        self._grids[name] = manual_grid(layer.shape, shape)

    def laid_over(self, scene: NetScene) -> NetScene:
        return NetScene(
            layers=[self._laid_over(layer) for layer in scene.layers], connections=scene.connections
        )

    def _laid_over(self, layer: NetLayer) -> NetLayer:
        place, grid = self._places.get(layer.name), self._grids.get(layer.name)
        # A layer that has other units than it had has the shape that it has by itself.
        if grid is not None and grid.num_units != layer.grid.num_units:
            grid = None
        return msgspec.structs.replace(
            layer,
            place=layer.place if place is None else place,
            grid=layer.grid if grid is None else grid,
        )

    def _check_round(self, name: str, other: str) -> None:
        way = [name]
        while other:
            way.append(other)
            if other == name:
                raise InputError(
                    f"{' is placed by '.join(way)}: that goes round. Place one of them without a relation."
                )
            known = self._places.get(other)
            other = "" if known is None else known.other


def check_name(name: Any, names: Collection[str]) -> None:
    if name in names:
        return
    near = difflib.get_close_matches(str(name), names, 3)
    listed = ", ".join(list(names)[:_MOST_LISTED])  # in their order: the inputs are first
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    hint = f"the nearest: {', '.join(near)}" if near else f"there are {listed or 'none yet'}{more}"
    raise InputError(f"there is no layer {name!r}: {hint}. view.scene.layers has them all.")


def _three_numbers(offset: Sequence[float]) -> list[float]:
    try:
        numbers = [float(part) for part in offset]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise InputError(f"the offset is {offset!r}: give three numbers, to the right, up and to the front.")
    return numbers


def _scale(scale: float) -> float:
    try:
        number = float(scale)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"the scale is {scale!r}: give a number above 0; 1 is as large as it is by itself.")
    return number
