"""Function: any function of the user's as a transform, told from what it was before it was changed."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features.transforms.protocol import Applied


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a batch of values, which keeps the first dimension: that of samples.

    - `words`: what it is called beside the features; its name when left out. Whether it still does the same
      is seen on the first batch, which is computed again when an extraction goes on.

    A module runs as it is: put it into eval mode first.
    """

    call: Callable[[Tensor], Tensor]
    words: str = ""

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise InputError(f"Function takes a function of a tensor, not {self.call!r}.")
        said = f"function {self.words}" if self.words else _described(self.call)
        object.__setattr__(self, "words", said)

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return _Call(layer, self)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        """The same for the same shape. Otherwise only one dimension has a name that means something."""
        if result == shape:
            return dims
        if len(result) == 1:
            return ("unit",)
        return tuple(f"dim_{at}" for at in range(1, len(result) + 1))


def _described(function: Any) -> str:
    """Such as "function package.module.name"."""
    kind = "module" if isinstance(function, nn.Module) else "function"
    return f"{kind} {_name_of(function)}"


def _name_of(thing: Any) -> str:
    if isinstance(thing, functools.partial):
        return f"partial({_name_of(thing.func)})"
    if isinstance(thing, types.MethodType) and not isinstance(thing.__self__, type):
        return f"{_name_of(type(thing.__self__))}.{thing.__name__}"
    if not hasattr(thing, "__qualname__"):
        thing = type(thing)
    module, name = str(getattr(thing, "__module__", "") or ""), str(thing.__qualname__)
    if name.startswith("_VariableFunctionsClass."):
        return f"torch.{thing.__name__}"
    if module == "__mp_main__":  # a process that was spawned knows the script under another name
        module = "__main__"
    return name if module in ("", "builtins") else f"{module}.{name}"


@dataclass(frozen=True, slots=True)
class _Call:
    layer: str
    function: Function

    def __call__(self, values: Tensor) -> Tensor:
        with torch.no_grad():
            result: Any = self.function.call(values)
        where = f"{self.function.words} of layer {self.layer!r}"
        if not isinstance(result, Tensor):
            hint = " torch.from_numpy makes one." if type(result).__module__ == "numpy" else ""
            raise InputError(f"{where}: it gave a {type(result).__name__}, and must give a tensor.{hint}")
        if result.dim() == 0 or len(result) != len(values):
            raise InputError(
                f"{where}: it was given {tuple(values.shape)} and gave {tuple(result.shape)}. The first "
                f"dimension is that of samples, and must stay {len(values)}."
            )
        return result
