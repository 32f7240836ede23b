"""What a module learns."""

from __future__ import annotations

from typing import Any, cast

from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.autograd.modes import as_plain


class Parameter(tracer):
    """A tensor that wants a gradient; a module finds it among its attributes."""

    @staticmethod
    def __new__(cls: type[Parameter], data: Any, requires_grad: bool = True) -> Parameter:
        return cast(Parameter, tracer.__new__(cls, data, requires_grad=requires_grad))

    def detach(self) -> tracer:  # type: ignore[override]
        """Its values alone, which are no parameter any more: a module that keeps them does not learn them."""
        with as_plain():
            return Tensor._make_subclass(tracer, self)
