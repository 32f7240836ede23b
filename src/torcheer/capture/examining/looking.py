"""Fetch what an op made and what it was given, as it was in the pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from torcheer.capture.examining.findings import Range, range_of
from torcheer.capture.op import Op

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


def kept_value(history: ModelHistory, index: int) -> Any:
    """The output as it was; what a postfunc made of it only where that has the same shape."""
    value = history._value_of(index)
    if value is not None:
        return value
    treated = history._saved_value(index)
    same = isinstance(treated, Tensor) and treated.shape == history._tape.meta(index).shape
    return treated if same else None


def param_value(history: ModelHistory, param: int) -> Tensor | None:
    """A parameter as it was in the pass; None where it has been written since, or was not stored."""
    tape, place = history._tape, -param - 1
    now = tape.params[place][1]
    if now.is_meta:  # as in a history that was loaded from a file
        return None
    if param not in tape.param_values and place < len(tape.param_versions):
        version = tape.param_versions[place]
        if version is not None and not now.is_inference() and now._version != version:
            return None
    return history._value_of(param)


def input_ranges(history: ModelHistory, op: Op) -> tuple[Range, ...]:
    """The ranges of all that an op was given, ops and parameters, in order."""
    tape = history._tape
    ranges = []
    for parent in dict.fromkeys(op._record.parents):
        if parent < 0:
            name, now = tape.params[-parent - 1]
            ranges.append(range_of(name, param_value(history, parent), tuple(now.shape)))
        else:
            value = kept_value(history, parent)
            ranges.append(range_of(history._label(parent), value, tuple(tape.meta(parent).shape)))
    return tuple(ranges)
