"""One level down: the ATen calls that an operation, or its backward, is made of."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from torcheer.graph.sizes import readable_seconds

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtenCall:
    """One call that reached torch's dispatcher."""

    name: str  # `aten::convolution`
    overload: str  # `default`, `out`, `Tensor`…
    input_shapes: tuple[Shape, ...]
    output_shapes: tuple[Shape, ...]
    seconds: float

    def __str__(self) -> str:
        inputs, outputs = _as_text(self.input_shapes), _as_text(self.output_shapes)
        return f"{self.name}.{self.overload}({inputs}) -> {outputs}  {readable_seconds(self.seconds)}"


class AtenWatcher(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees the calls between `begin` and `end`. What we do ourselves lies outside."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._open: list[list[AtenCall]] = []

    def begin(self) -> None:
        self._open.append([])
        self.__enter__()  # type: ignore[no-untyped-call]

    def end(self) -> tuple[AtenCall, ...]:
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        return tuple(self._open.pop())

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
        self._open[-1].append(call)
        return out


def _shapes(value: Any) -> tuple[Shape, ...]:
    found: list[Shape] = []
    _collect(value, found)
    return tuple(found)


def _collect(value: Any, into: list[Shape]) -> None:
    if isinstance(value, Tensor):
        into.append(() if value.is_nested else tuple(value.shape))
    elif isinstance(value, tuple | list):
        for item in value:
            _collect(item, into)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, into)


def _as_text(shapes: tuple[Shape, ...]) -> str:
    return ", ".join("×".join(map(str, shape)) or "scalar" for shape in shapes)
