"""Which layers of a model are meant, by name, pattern, type, module or rule; and the modes they run in."""

from __future__ import annotations

import difflib
import fnmatch
import re
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torcheer.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchableLayer:
    """A layer that can be watched."""

    name: str
    module: nn.Module
    parameters: tuple[str, ...]  # its own: weight, bias

    @property
    def type(self) -> str:
        return type(self.module).__name__

    def __repr__(self) -> str:
        own = f" ({', '.join(self.parameters)})" if self.parameters else ""
        return f"{self.name or 'the model itself'}: {self.type}{own}"


def trackable(model: nn.Module) -> list[WatchableLayer]:
    """All layers of a model that can be watched, in the order in which the model names them.

    These are the modules without modules of their own, and those with parameters of their own.
    """
    _checked(model)
    model = unwrapped_model(model)
    found = []
    for name, module in model.named_modules():
        own = tuple(name for name, _ in module.named_parameters(recurse=False))
        if own or not any(True for _ in module.children()):
            found.append(WatchableLayer(name=name, module=module, parameters=own))
    return found


def chosen_layers(model: nn.Module, layers: Any) -> dict[str, nn.Module]:
    """Modules by name. `layers` is `'all'`, or one or several names, patterns, types, modules or rules."""
    if isinstance(layers, str) and layers == "all":
        return {layer.name: layer.module for layer in trackable(model)}
    _checked(model)
    modules = dict(unwrapped_model(model).named_modules())
    names: set[str] = set()
    for choice in choices_of(layers):
        found = [name for name, module in modules.items() if is_meant(choice, name, module)]
        if not found:
            near = difflib.get_close_matches(choice, modules, 3) if isinstance(choice, str) else []
            hint = f" The nearest: {', '.join(near)}." if near else ""
            raise InputError(f"no layer answers to {choice!r}.{hint} tl.trackable(model) lists them all.")
        names.update(found)
    return {name: module for name, module in modules.items() if name in names}


def choices_of(layers: Any) -> list[Any]:
    """One choice or several, as a list."""
    is_one = isinstance(layers, str | re.Pattern | type | nn.Module) or callable(layers)
    choices = [layers] if is_one else list(layers) if isinstance(layers, Iterable) else []
    if not choices:
        what = "empty" if isinstance(layers, Iterable) else repr(layers)
        raise InputError(f"layers is {what}: give 'all', names, patterns such as 'features.*', or types.")
    return choices


def is_meant(choice: Any, name: str, module: nn.Module | None) -> bool:
    """True if a name, pattern, type, module or rule means the layer. `module` is None if it is no module."""
    if isinstance(choice, str):
        return name == choice or fnmatch.fnmatchcase(name, choice)
    if isinstance(choice, re.Pattern):
        return choice.search(name) is not None
    if isinstance(choice, type):
        return isinstance(module, choice)
    if isinstance(choice, nn.Module):
        return module is choice
    if callable(choice):
        return module is not None and bool(choice(name, module))
    raise InputError(f"{choice!r} names no layer: give a name, a pattern, a type, a module or a rule.")


def unwrapped_model(model: nn.Module) -> nn.Module:
    """The model as its author wrote it: without torch.compile, and without data parallelism around it."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = model.module
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def _checked(model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise InputError(f"a {type(model).__name__} is no model: give a torch.nn.Module.")


@contextmanager
def same_modes_after(model: nn.Module) -> Iterator[None]:
    """Whatever is done to the modes inside, each layer has its own again: some may be kept from training."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


# torch has one stance for the whole process, and whoever sets it puts back the one that was there. Two that
# overlap, as passes of two threads do, would leave it changed: here it is taken once and given back once.
_lock = threading.RLock()  # the collector may run in the midst of it, and let somebody go
_wanting: dict[int, weakref.ref[object]] = {}
_stance: Any = None


class _Somebody:
    """Who wants it for the length of a block."""


def begin_eager(who: object) -> None:
    """What is compiled shows its layers only without the compiler. Who is collected has ended."""
    global _stance
    if "torch._dynamo" not in sys.modules:  # then nothing is compiled
        return
    with _lock:
        number = id(who)
        if number not in _wanting:
            _wanting[number] = weakref.ref(who, lambda _: _end(number))
        if _stance is None:
            _stance = torch.compiler.set_stance("force_eager")


def end_eager(who: object) -> None:
    """The last one who wanted it lets it go on as before."""
    if _stance is not None:
        _end(id(who))


@contextmanager
def without_compiler() -> Iterator[None]:
    """Compiled code runs as it was written."""
    somebody = _Somebody()
    begin_eager(somebody)
    try:
        yield
    finally:
        end_eager(somebody)


def _end(number: int) -> None:
    global _stance
    with _lock:
        _wanting.pop(number, None)
        if not _wanting and _stance is not None:
            _stance.__exit__(None, None, None)
            _stance = None
