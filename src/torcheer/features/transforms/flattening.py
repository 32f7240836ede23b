"""Flatten: one row of units for each sample."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from torcheer.features.transforms.protocol import Applied


@dataclass(frozen=True, slots=True)
class Flatten:
    """Each sample becomes one row of units, in the order that they lie in memory."""

    @property
    def words(self) -> str:
        return "flatten"

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return _flat

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return ("unit",)


def _flat(values: Tensor) -> Tensor:
    return values.reshape(len(values), -1)
