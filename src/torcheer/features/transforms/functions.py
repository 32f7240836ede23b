"""Function: any function of the user's as a transform, told from what it was before it was changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.transforms.fingerprints import describe
from torcheer.features.transforms.protocol import Applied


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a batch of values, which keeps the first dimension: that of samples.

    - `words`: what it is called beside the features. When left out, its name and a hash of what it does: its
      code, constants, defaults, what it closes over, the simple values and functions of its own package that
      it names, and the weights of a module. Where one of these changes, features are extracted again. What
      the functions of other packages do is not looked at. Say `words` yourself if this is not what you want.

    A module runs as it is: put it into eval mode first.
    """

    call: Callable[[Tensor], Tensor]
    words: str = ""

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise InputError(f"Function takes a function of a tensor, not {self.call!r}.")
        said = f"function {self.words}" if self.words else describe(self.call)
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
