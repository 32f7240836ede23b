"""Let compiled code run without the compiler for a step, however many watchers want that at once."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch

_wanting: weakref.WeakSet[object] = weakref.WeakSet()
_stance: Any = None


def begin_eager(who: object) -> None:
    """What is compiled shows its layers only when it runs without the compiler."""
    global _stance
    if _stance is None and "torch._dynamo" in sys.modules:
        _stance = torch.compiler.set_stance("force_eager")
    _wanting.add(who)


def end_eager(who: object) -> None:
    """The last one who wanted it lets it go on as before."""
    global _stance
    _wanting.discard(who)
    if not _wanting and _stance is not None:
        stance, _stance = _stance, None
        stance.__exit__(None, None, None)
