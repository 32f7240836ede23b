"""Layers that leave numbers out, by chance, while training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn.module import Module
from torcheer.errors import InputError


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise InputError(f"p is the chance to be left out, from 0 to 1, not {p}.")
        self.p = p

    def _dropped(self, drop: Callable[..., Any], x: Tensor) -> Any:
        return drop(x, self.p, self.training)

    def extra_repr(self) -> str:
        return str(self.p)


class Dropout(_Dropout):
    """Single numbers."""

    def forward(self, x: Tensor) -> Any:
        return self._dropped(F.dropout, x)


class Dropout1d(_Dropout):
    """Whole channels of sequences."""

    def forward(self, x: Tensor) -> Any:
        return self._dropped(F.dropout1d, x)


class Dropout2d(_Dropout):
    """Whole channels of pictures."""

    def forward(self, x: Tensor) -> Any:
        return self._dropped(F.dropout2d, x)


class AlphaDropout(_Dropout):
    """Single numbers, in a way that goes with SELU."""

    def forward(self, x: Tensor) -> Any:
        return self._dropped(F.alpha_dropout, x)
