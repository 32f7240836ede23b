"""Small models for tests: a function of a few parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class Made(nn.Module):
    """`Made(lambda m, x: m.fc(x) * 2, fc=nn.Linear(4, 3))`."""

    def __init__(self, call: Callable[[Any, Tensor], Any], **parts: nn.Module | nn.Parameter) -> None:
        super().__init__()
        self.call = call
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Tensor) -> Any:
        return self.call(self, x)
