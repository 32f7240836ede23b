"""What a module learns."""

from __future__ import annotations

from typing import Any, cast

from torcheer.autograd.engine import tracer


class Parameter(tracer):
    """A tensor that wants a gradient; a module finds it among its attributes."""

    @staticmethod
    def __new__(cls: type[Parameter], data: Any, requires_grad: bool = True) -> Parameter:
        return cast(Parameter, tracer.__new__(cls, data, requires_grad=requires_grad))
