"""Layers that only change the shape, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from torcheer.autograd.nn.module import Module


class Identity(Module):
    """What comes in goes out; it takes any arguments, so that it can stand for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Any:
        return x


class Flatten(Module):
    """Several dimensions become one: of each item a vector, unless said otherwise."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Any:
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return "" if (self.start_dim, self.end_dim) == (1, -1) else f"{self.start_dim}, {self.end_dim}"


class Unflatten(Module):
    """One dimension becomes several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Any) -> Any:
        return x.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"{self.dim}, {self.unflattened_size}"
