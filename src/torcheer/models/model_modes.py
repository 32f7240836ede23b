"""Modes that a model runs in: training or not, compiled or not. Changed for a while, and put back."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def same_modes_after(model: nn.Module) -> Iterator[None]:
    """Whatever is done to the modes inside, each layer has its own again: some may be kept from training."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


# --- without the compiler ---------------------------------------------------------------------------------

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
