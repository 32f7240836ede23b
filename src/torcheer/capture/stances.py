"""Let compiled code run without the compiler for a while, however many want that at once.

torch has one stance for the whole process, and who sets it puts back the one he found. Two who overlap, as
passes of two threads do, would leave it changed for ever: here it is taken once and given back once.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

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
