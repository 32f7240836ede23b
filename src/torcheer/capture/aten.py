"""One level down: the ATen calls that an operation, or its backward, is made of."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import torch
from msgspec import Meta
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from torcheer.capture.aliasing import shape_of
from torcheer.capture.inputs import collect_tensors
from torcheer.graph import readable_seconds

# Numbers that may stand in a saved pass are checked when it is read.
Count = Annotated[int, Meta(ge=0, le=2**62)]
Index = Annotated[int, Meta(ge=-1, le=2**62)]
Shape = tuple[Index, ...]  # -1: a size that differs from part to part


class AtenCall(NamedTuple):
    """One call that reached torch's dispatcher."""

    name: str  # `aten::convolution`
    overload: str  # `default`, `out`, `Tensor`…
    input_shapes: tuple[Shape, ...]
    output_shapes: tuple[Shape, ...]
    seconds: float

    def __str__(self) -> str:
        inputs, outputs = _as_text(self.input_shapes), _as_text(self.output_shapes)
        return f"{self.name}.{self.overload}({inputs}) -> {outputs}  {readable_seconds(self.seconds)}"


def begin_watching() -> list[AtenCall]:
    """From here on the calls of this thread are added to a list; give it to `end_watching`.

    Several may watch the same calls, as two histories do where their passes share a parameter; so there is
    one mode a thread, which is on while anybody watches. What we do ourselves lies outside.
    """
    calls: list[AtenCall] = []
    if _thread.lists and not _thread.is_on():
        _thread.lists.clear()  # a backward pass that raised: torch has taken the mode away
    if not _thread.lists:
        _thread.mode.__enter__()  # type: ignore[no-untyped-call]
    _thread.lists.append(calls)
    return calls


def end_watching(calls: list[AtenCall]) -> tuple[AtenCall, ...]:
    if any(one is calls for one in _thread.lists):
        _thread.lists = [one for one in _thread.lists if one is not calls]
        if not _thread.lists:
            _thread.mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
    return tuple(calls)


@contextmanager
def unwatched() -> Iterator[None]:
    """What runs inside is our own doing, whoever watches."""
    lists, _thread.lists = _thread.lists, []
    try:
        yield
    finally:
        _thread.lists = lists


class _Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = perf_counter()
        out = func(*args, **(kwargs or {}))
        seconds = perf_counter() - started
        with torch._C.DisableTorchFunction():
            call = AtenCall(
                name=func._schema.name,
                overload=func._overloadname,
                input_shapes=_shapes((args, kwargs)),
                output_shapes=_shapes(out),
                seconds=seconds,
            )
        for calls in _thread.lists:
            calls.append(call)
        return out


class _Thread(threading.local):
    """What is being watched in one thread."""

    def __init__(self) -> None:
        self.mode = _Mode()  # type: ignore[no-untyped-call]
        self.lists: list[list[AtenCall]] = []

    def is_on(self) -> bool:
        return any(mode is self.mode for mode in _get_current_dispatch_mode_stack())


_thread = _Thread()


def _shapes(value: Any) -> tuple[Shape, ...]:
    return tuple([tuple(shape_of(tensor)) for tensor in collect_tensors(value)])


def _as_text(shapes: tuple[Shape, ...]) -> str:
    return ", ".join("×".join(map(str, shape)) or "scalar" for shape in shapes)
