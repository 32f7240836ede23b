"""Whether a figure is better when it is lower or when it is higher."""

from __future__ import annotations

import re
from typing import Literal, overload

from torcheer.errors import InputError

Mode = Literal["min", "max"]

_WORD = re.compile(r"[a-z]+[0-9]*")
_LOW = frozenset("loss losses nll cost error errors mae mse rmse perplexity objective seconds".split())
_HIGH = frozenset(
    "acc accuracy f1 auc auroc precision recall r2 iou map score top1 top2 top3 top5 top10 correct ap".split()
)


@overload
def mode_of(name: str, mode: Mode | None) -> Mode: ...
@overload
def mode_of(name: str, mode: Mode | None, *, default: Literal[""]) -> Mode | Literal[""]: ...
def mode_of(name: str, mode: Mode | None, *, default: str | None = None) -> str:
    """The mode that was given, or the one that the name says; `default` where it says none."""
    if mode is not None:
        if mode not in ("min", "max"):
            raise InputError(f"mode={mode!r}: give 'min' where lower is better, or 'max'.")
        return mode
    words = set(_WORD.findall(name.lower()))
    if words & _LOW:
        return "min"
    if words & _HIGH:
        return "max"
    if default is not None:
        return default
    raise InputError(f"{name!r} does not say which is better: give mode='min' for lower, or mode='max'.")
