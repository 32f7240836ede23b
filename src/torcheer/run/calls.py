"""What a call of `run.log` means, whichever way its arguments are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from torcheer.errors import InputError

NOT_GIVEN: Final[Any] = object()
_HOW = "write run.log(step, loss=0.1), or run.log(step, {'train/loss': 0.1})."


class LogCall(NamedTuple):
    """A step, as it was given, and values by name."""

    step: Any
    values: dict[Any, Any]


def log_call(step: Any, values: Any, others: tuple[Any, ...], named: dict[str, Any]) -> LogCall:
    """Raises InputError where it cannot be understood.

    `log(step=3, loss=0.1)` and `log({"loss": 0.1}, step=3)` are good, too. Where a step stands first, "step"
    is a name as any other.
    """
    if others:
        raise InputError(f"{2 + len(others)} values were given without a name: {_HOW}")
    if isinstance(step, Mapping) and values is None:
        step, values = NOT_GIVEN, step
    if step is NOT_GIVEN:
        if "step" not in named:
            raise InputError(f"there is no step: {_HOW}")
        step = named.pop("step")
    # No value is a mapping, so this is not one of that name.
    if values is None and isinstance(named.get("values"), Mapping):
        values = named.pop("values")
    if values is not None and not hasattr(values, "keys"):
        raise InputError(f"a {type(values).__name__} was given without a name: {_HOW}")
    return LogCall(step, named if values is None else {**values, **named})
