"""What layers respond to each item of a test set, or at each moment of a run. No torch."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError, LayerNotFoundError
from torcheer.netview.analysis.points import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Responses:
    """A row for each item, the same items in all layers."""

    arrays: Mapping[str, Array]  # by layer: items by units
    shapes: Mapping[str, tuple[int, ...]]  # of one item
    inputs: Array | None = None  # items, then the shape of one; None where they were not kept
    labels: Array | None = None  # one for each item
    left_out: Mapping[str, str] = field(default_factory=dict)  # layers that are not here, and why
    steps: NDArray[numpy.int64] | None = None  # of a run: of which moment a row is,
    items: NDArray[numpy.int64] | None = None  # and of which item of the batch

    @property
    def names(self) -> list[str]:
        """The layers, in the order in which the model names them."""
        return list(self.arrays)

    @property
    def num_items(self) -> int:
        return next((len(array) for array in self.arrays.values()), 0)

    def layer(self, name: str) -> Array:
        """Items by units. Units are numbered as they stand in the tensor of one item."""
        if name in self.arrays:
            return self.arrays[name]
        if name in self.left_out:
            raise InputError(f"the responses of {name!r} are not here: {self.left_out[name]}")
        near = difflib.get_close_matches(str(name), self.names, 3)
        listed = ", ".join(map(repr, near or self.names[:8]))
        raise LayerNotFoundError(f"there are no responses of a layer {name!r}: there is {listed}.")

    def maps(self, name: str) -> Array:
        """Items, then the shape of one, as the layer gives it."""
        return self.layer(name).reshape(-1, *self.shapes[name])

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", {len(numpy.unique(self.labels))} labels"
        return f"<Responses: {len(self.arrays)} layers to {self.num_items:,} items{labels}>"
