"""What is watched, as both processes know it: rows, one for each tensor that is looked at again and again.

A row is a layer and a variable of it, and has the name that its records have in the run:

    features.0.Act             what the layer gives
    features.0.Grad            the gradient there
    features.0.weight          a parameter
    features.0.weight.Grad     its gradient
    features.0.weight.Delta    what the last step changed
    features.0.weight.exp_avg  a tensor that the optimizer keeps for it
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from torcheer.inspector.columns import COLUMNS

Role = Literal["activation", "gradient", "weight", "weight_gradient", "update", "state", "tensor"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor over time. The sizes say how much of it has room in a frame."""

    name: str
    layer: str  # the address of its module; of a tensor that was given by itself, its name
    variable: str  # Act, Grad, weight, weight.Grad, weight.Delta, weight.exp_avg…
    role: Role
    module: str = ""  # the type of the module: Conv2d
    excerpt_bytes: int = 0  # for a piece of it that keeps its shape; 0 where no tensors are kept
    unit_bytes: int = 0  # for whether each unit was ever other than 0, a byte each
    shape: tuple[int, ...] | None = None  # of a weight; of all else it is known when it is seen


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of one child, and how much of each is sampled. Any change is a new plan, and a new ring."""

    number: int  # of this watching: 0, 1, 2…
    rows: tuple[Row, ...]
    sample_elements: int  # at most so many values of each tensor go to the child
    num_slots: int

    def digest(self) -> str:
        """The same for plans with the same rows and figures: what statistics name these by."""
        names = [(row.name, row.layer, row.variable, row.role, row.module) for row in self.rows]
        return hashlib.sha256(msgspec.json.encode((names, COLUMNS))).hexdigest()[:16]
