"""What holds for the code that runs right now: whether ops are remembered, and in which layer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, Final, TypeVar

import torch

# Inside of it a tracer is an ordinary tensor: nothing is recorded, and results are ordinary tensors, too.
as_plain: Final = torch._C.DisableTorchFunctionSubclass

# Inside of it they are tracers again.
as_traced: Final = torch._C._EnableTorchFunction

# Whether calls on tracers come to us: not inside of `as_plain`.
tracing: Final = torch._C._is_torch_function_enabled

F = TypeVar("F", bound=Callable[..., Any])


class Modes(threading.local):
    """In each thread by itself, as torch's own modes are."""

    recording: bool = True
    layer: Any = None  # the call of a layer of nn that is under way, if there is one
    noted: list[Any] | None = None  # the nodes that are made, where somebody wants to know
    refilling: bool = False  # a part of a graph is computed again, to have its values


modes: Final = Modes()


class Recording(ContextDecorator):
    """Remember ops, or not, for the code inside; also as a decorator."""

    def __init__(self, mode: bool) -> None:
        self._mode = mode
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(modes.recording)
        modes.recording = self._mode

    def __exit__(self, *_: object) -> None:
        modes.recording = self._before.pop()

    def _recreate_cm(self) -> Recording:
        return Recording(self._mode)  # for each call of a function that it decorates: threads share none


class set_grad_enabled(Recording):  # noqa: N801  (torch's name)
    """The same, from the call on: `set_grad_enabled(False)` alone holds until the next such call."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._at_call = modes.recording
        modes.recording = mode

    def __enter__(self) -> None:
        self._before.append(self._at_call)
        modes.recording = self._mode

    def __call__(self, function: F) -> F:
        modes.recording = self._at_call  # a decorator is for the function alone
        return super().__call__(function)


def no_grad(function: Any = None) -> Any:
    """`with no_grad():` or `@no_grad()`: what is computed inside wants no gradient."""
    return Recording(False) if function is None else Recording(False)(function)


def enable_grad(function: Any = None) -> Any:
    """The way back inside of a `no_grad()`."""
    return Recording(True) if function is None else Recording(True)(function)


def is_grad_enabled() -> bool:
    """Whether ops are remembered right now."""
    return modes.recording
