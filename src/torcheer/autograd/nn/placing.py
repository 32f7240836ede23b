"""Layers that are made in another type or on another device: `Linear(2, 3, dtype=torch.float64)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

Init = Callable[..., None]


def in_any_type(init: Init) -> Init:
    """Let the `__init__` of a layer take `device` and `dtype` as well.

    All its tensors are made in that type, not converted, so that random numbers are those that torch draws.
    """

    @functools.wraps(init)
    def inside(self: Any, *args: Any, device: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        usual = torch.get_default_dtype()
        torch.set_default_dtype(usual if dtype is None else dtype)
        try:
            init(self, *args, **kwargs)
        finally:
            torch.set_default_dtype(usual)
        if device is not None:
            self.to(device)

    return inside
