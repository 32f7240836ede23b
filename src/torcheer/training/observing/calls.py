"""What a training calls its model with: kept for one step, so that the same pass can be looked at again."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from torch import nn
from torch.utils.hooks import RemovableHandle


class Called(NamedTuple):
    """A call of a module."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def as_one(self) -> Any:
        """All arguments in one: a list, or a dict of them by name."""
        if not self.kwargs:
            return list(self.args)
        return {**inspect.signature(self.module.forward).bind_partial(*self.args).arguments, **self.kwargs}


class Calls:
    """The last call of a model, or, where it is not called itself, of the largest layer of it that is.

    A step may call `self(x)`, or `self.net(x)`, as people like it.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._last: dict[nn.Module, Called] = {}
        self._handles: list[RemovableHandle] = [
            module.register_forward_pre_hook(self._note, with_kwargs=True)
            for module in dict.fromkeys((model, *model.children()))
        ]

    def of_the_model(self) -> Called | None:
        if self._model in self._last:
            return self._last[self._model]
        return max(self._last.values(), key=lambda called: _num_weights(called.module), default=None)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._last = {}

    def _note(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Lightning leads the call of a wrapper round to `training_step` under this name: that is no pass.
        if getattr(module.forward, "__name__", "") != "wrapped_forward":
            self._last[module] = Called(module, args, dict(kwargs))


def _num_weights(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
