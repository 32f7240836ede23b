"""Hooks that stay behind when a model is copied or saved: the copy is not watched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

# Takes anything and does nothing. Of the standard library, so that a model that was saved while it was
# watched can be loaded where torcheer is not installed.
_NOTHING = partial(sys.audit, "torcheer.hook")


class Hook:
    """Calls a function with some arguments before those of the hook."""

    __slots__ = ("_first", "_function")

    def __init__(self, function: Callable[..., None], *first: Any) -> None:
        self._function, self._first = function, first

    def __call__(self, *rest: Any) -> None:
        # A model that is being compiled takes this call into its graph, or fails to; it runs without us.
        if not torch.compiler.is_compiling():
            self._function(*self._first, *rest)

    def __deepcopy__(self, _memo: Any) -> Callable[..., None]:
        return _NOTHING

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (sys.audit, "torcheer.hook")
