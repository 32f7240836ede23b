"""The layers that a State meets: a new name makes one, a new shape makes it anew."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Final

from torch import Tensor

from torcheer.errors import InputError
from torcheer.netview.grids import grid_of
from torcheer.run import NetLayer, Place

ACT: Final = "Act"  # the variable of a name that names none


def split_name(name: str) -> tuple[str, str]:
    """`Layer.Var`, at the last dot; without one it is the variable Act."""
    layer, dot, variable = name.rpartition(".")
    if not dot:
        return name, ACT
    if not layer or not variable:
        raise InputError(f"{name!r} names no layer and variable: give a name such as 'Image.Act'.")
    return layer, variable


def gradient_name(variable: str) -> str:
    return "Grad" if variable == ACT else f"{variable}.Grad"


class MetLayers:
    """In the order in which they were met; the first one is the input."""

    def __init__(self) -> None:
        self._layers: dict[str, NetLayer] = {}

    def __len__(self) -> int:
        return len(self._layers)

    @property
    def all(self) -> Collection[NetLayer]:
        return self._layers.values()

    def copies(self) -> list[NetLayer]:
        """Their lists of variables may still grow."""
        return [copy.deepcopy(layer) for layer in self._layers.values()]

    def has(self, name: str, variable: str) -> bool:
        return name in self._layers and variable in self._layers[name].variables

    def meet(self, name: str, variable: str, kept: Tensor) -> bool:
        """Whether there is a layer that was not there before, in this shape."""
        has_items = kept.dim() > 1
        shape = list(kept.shape[1:] if has_items else kept.shape)
        known = self._layers.get(name)
        if known is not None and (known.shape == shape or not _gives_shape(known, variable)):
            if variable not in known.variables:
                known.variables.append(variable)
            return False
        is_input = known.is_input if known is not None else not self._layers
        self._layers[name] = NetLayer(
            name=name,
            module="",
            shape=shape,
            grid=grid_of(shape, is_picture=is_input),
            variables=[variable] if known is None else list(dict.fromkeys([*known.variables, variable])),
            place=Place(),
            is_input=is_input,
            has_items=has_items,
        )
        return True


def _gives_shape(layer: NetLayer, variable: str) -> bool:
    """A layer has the shape of its Act, or else of its first variable; others may have one of their own."""
    main = ACT if ACT in layer.variables else layer.variables[0]
    return variable in (main, ACT)
