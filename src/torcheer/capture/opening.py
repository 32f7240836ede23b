"""Look inside torch functions that are written in Python.

While a function mode is active, `F.multi_head_attention_forward` and its like hand themselves over
as one call. A copy of the function whose `has_torch_function` answers no runs its body instead.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def _no(*_args: Any) -> bool:
    return False


_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class OpenCopies:
    """Copies of functions for one capture: a function that is replaced later is found anew."""

    def __init__(self) -> None:
        self._globals: dict[int, dict[str, Any]] = {}
        self._copies: dict[FunctionType, FunctionType] = {}

    def copy_of(self, func: FunctionType) -> FunctionType:
        copy = self._copies.get(func)
        if copy is None:
            namespace = func.__globals__
            unchecked = self._globals.get(id(namespace))
            if unchecked is None:
                unchecked = dict(namespace)
                unchecked.update((name, _no) for name in _CHECKS if name in namespace)
                self._globals[id(namespace)] = unchecked
            copy = FunctionType(func.__code__, unchecked, func.__name__, func.__defaults__, func.__closure__)
            copy.__kwdefaults__ = func.__kwdefaults__
            self._copies[func] = copy
        return copy
