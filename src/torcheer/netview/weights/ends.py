"""What connects two layers, as it was recorded: the weights, and the shapes at both ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.netscene import Connection

Shape = tuple[int, ...]
Values = NDArray[Any]


class UnitWeights(NamedTuple):
    """One entry for each unit of a layer, in the order of its tensor."""

    values: Values  # 0 where nothing connects
    is_connected: NDArray[numpy.bool_]


class Laid(NamedTuple):
    """Units at the other end, and the weight of each; both may have any shape, if it is the same."""

    units: Values
    weights: Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ends:
    """A connection with its weights. Shapes are those of one item."""

    connection: Connection
    weight: Values
    source_shape: Shape
    target_shape: Shape
    source_values: Values | None

    @property
    def num_source_units(self) -> int:
        return math.prod(self.source_shape)

    @property
    def num_target_units(self) -> int:
        return math.prod(self.target_shape)

    def misfit(self) -> InputError:
        source, target = self.connection.source, self.connection.target
        return InputError(
            f"weights of the shape {self.weight.shape} do not lead from {source!r} {self.source_shape} to "
            f"{target!r} {self.target_shape} as {self.connection.form}: they are of another layer, or only a "
            "piece of them was recorded."
        )
