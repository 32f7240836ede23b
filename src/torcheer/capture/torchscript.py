"""Watch the dispatcher for operations that no Python call shows: TorchScript's, above all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from torcheer.capture.function_traits import trait_of
from torcheer.graph import Site

Recorder = Callable[..., Any]

# Stands for code that is not Python's: the nth op of a script is at its nth place.
_SCRIPT = compile("0", "<script>", "eval")


def is_in_script(site: Site) -> bool:
    """Whether an op was recorded below Python."""
    return bool(site) and site[0] is _SCRIPT


class DispatchWatcher(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Hands each ATen call to `record`, except below a call that is recorded already."""

    def __init__(self, record: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._record = record
        self._depth = 0
        self._num_recorded = 0
        self._alive: list[Any] = []  # TorchScript's values have no other Python owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # A function mode is not off in here: what we call must not come back to it.
        with torch._C.DisableTorchFunction():
            # detach: autograd setting a value aside for backward, not a step of the model.
            if self._depth or func is torch.ops.aten.detach.default:
                return func(*args, **(kwargs or {}))
            self._num_recorded += 1
            out = self._record(trait_of(func), args, kwargs or {}, (_SCRIPT, 2 * self._num_recorded))
        self._alive.append((args, out))
        return out

    @contextmanager
    def covered(self) -> Iterator[None]:
        """While this is open, what happens below is part of a call that is recorded already."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


# Functions of torch that make a tensor without any call that a mode sees.
_HIDDEN = frozenset(["nested_tensor", "as_nested_tensor"])


def uses_scripted_functions(modules: list[tuple[str, nn.Module]]) -> bool:
    """Whether a module of the model holds, or its forward names, a scripted function."""
    forwards = {getattr(type(module), "forward", None) for _, module in modules}
    seen: set[int] = set()
    return any(isinstance(f, FunctionType) and _names_scripted(f, seen, depth=0) for f in forwards) or any(
        torch.jit.ScriptFunction in map(type, vars(module).values()) for _, module in modules
    )


def _names_scripted(func: FunctionType, seen: set[int], depth: int) -> bool:
    if id(func.__code__) in seen or depth > 3 or _is_torchs_own(func):
        return False
    seen.add(id(func.__code__))
    if not _HIDDEN.isdisjoint(_all_names(func.__code__)):
        return True
    cells = [cell.cell_contents for cell in func.__closure__ or () if _is_filled(cell)]
    named = [func.__globals__[name] for name in _all_names(func.__code__) if name in func.__globals__]
    for value in (*named, *cells):
        if isinstance(value, torch.jit.ScriptFunction):
            return True
        if isinstance(value, FunctionType) and _names_scripted(value, seen, depth + 1):
            return True
    return False


def _all_names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _all_names(constant)
    return names


def _is_torchs_own(func: FunctionType) -> bool:
    return (func.__module__ or "").split(".")[0] == "torch"


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def is_scripted(module: nn.Module) -> bool:
    return isinstance(module, torch.jit.ScriptModule)
