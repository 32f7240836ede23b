"""When something was observed: a step, which is a whole number, and a time."""

from __future__ import annotations

import math
import operator
import time
from typing import Any

from torcheer.errors import InputError

_FIRST, _LAST = -(2**63), 2**63 - 1  # what SQLite and NumPy hold


def step_of(step: Any) -> int:
    """The step as a whole number: 3.0 and a tensor of one number will do."""
    number = _whole(step.item() if hasattr(step, "item") and not isinstance(step, type) else step)
    if number is None:
        raise InputError(f"the step is {_shown(step)}, and steps are whole numbers: give the step first.")
    if not _FIRST <= number <= _LAST:
        raise InputError(f"the step {number} takes more than 64 bits: count from 0.")
    return number


def _whole(step: Any) -> int | None:
    if isinstance(step, float):
        return int(step) if step.is_integer() else None
    try:
        return operator.index(step)
    except TypeError:
        return None


def time_of(given: Any) -> float:
    """Seconds since 1970; now where none are given."""
    if given is None:
        return time.time()
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InputError(f"the time is {_shown(given)}: give seconds since 1970, as time.time() does.")
    return seconds


def checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"the name is a {type(name).__name__}: give the step, then a name as text.")
    return name


def _shown(value: Any) -> str:
    text = f"{value!r}" if isinstance(value, int | float | str) else f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:79] + "…"
