"""Training and evaluation mode of a model, layer by layer: changed for a while, and put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def same_modes_after(model: nn.Module) -> Iterator[None]:
    """Whatever is done to the modes inside, each layer has its own again: some may be kept from training."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
