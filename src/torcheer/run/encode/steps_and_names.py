"""When something was observed: a step, which is a whole number, and a time."""

from __future__ import annotations

import math
import numbers
import operator
import sys
import time
from typing import Any, SupportsFloat

from torcheer.errors import InputError
from torcheer.run.records import Encoded, TextHead

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


# --- texts ----------------------------------------------------------------------------------------------


def plain_text(value: Any) -> str:
    """Half of a character, as in the name of a file that is no text, cannot be written as UTF-8."""
    text = value if isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def plain_texts(value: Any) -> Any:
    """The same of all texts in builtin containers, as `msgspec.to_builtins` makes them."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, dict):
        return {key: plain_texts(item) for key, item in value.items()}
    return [plain_texts(item) for item in value] if isinstance(value, list | tuple) else value


def text_of(value: Any) -> str:
    """What somebody wants to read: text, or bytes that are text, or anything that can be written."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    return plain_text(value)


def encode_text(text: str) -> Encoded:
    return Encoded(TextHead(num_characters=len(text)), text.encode())


# --- numbers --------------------------------------------------------------------------------------------


def single_number(value: Any) -> Any:
    """A number as it is; of a tensor or an array with one element, that element, still where it is."""
    if isinstance(value, numbers.Number) and (
        isinstance(value, numbers.Real) or not isinstance(value, numbers.Complex)
    ):
        return value
    size = getattr(value, "numel", None)
    count = size() if callable(size) else getattr(value, "size", None)
    if count == 1 and hasattr(value, "reshape"):
        return (value.detach() if hasattr(value, "detach") else value).reshape(())
    if count is not None and hasattr(value, "shape"):
        raise InputError(f"shape {tuple(value.shape)} is no single number: log x.mean(), or use add_tensor.")
    raise InputError(f"a {type(value).__name__} is no number: use add_text for text.")


NOT_A_NUMBER = object()  # says: look at it as something else


class OnDevice:
    """A number on another device, copied there already. float() waits for it: the writer's business."""

    __slots__ = ("_event", "_tensor")

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor.detach().clone()
        self._event = _event_after(tensor.device)

    def __float__(self) -> float:
        if self._event is not None:
            self._event.synchronize()
        return float(self._tensor.item())


def number_of(value: Any) -> Any:
    """What stands for the value until it is written, or NOT_A_NUMBER. May raise what the value raises."""
    if isinstance(value, float | int):
        return float(value)
    if isinstance(value, str | bytes | complex):
        return NOT_A_NUMBER
    if hasattr(value, "detach") and hasattr(value, "device"):
        return _number_of_tensor(value)
    if getattr(getattr(value, "dtype", None), "kind", "f") not in "fiub":
        return NOT_A_NUMBER  # NumPy has complex numbers, text and dates of no dimension, too
    if getattr(value, "shape", ()) != ():
        if not (_has_one_element(value) and hasattr(value, "reshape")):
            return NOT_A_NUMBER
        value = value.reshape(())
    return float(value) if isinstance(value, SupportsFloat) else NOT_A_NUMBER


def _number_of_tensor(value: Any) -> Any:
    if not _has_one_element(value) or value.dtype.is_complex:
        return NOT_A_NUMBER
    # A tensor on "meta" has no value and says so here, in the caller's own line.
    if value.device.type in ("cpu", "meta"):
        return float(value.detach().item())
    return OnDevice(value)


def _has_one_element(value: Any) -> bool:
    """Whether the shape is (), (1,), (1, 1) and so on."""
    return all(size == 1 for size in value.shape)


def _event_after(device: Any) -> Any:
    """Work on a device is ordered only within a stream: the writer must know when the copy is done."""
    accelerator = getattr(sys.modules.get("torch"), "accelerator", None)
    if accelerator is None:
        return None
    try:
        return accelerator.current_stream(device).record_event()
    except (AttributeError, RuntimeError, ValueError, TypeError, NotImplementedError):
        return None  # this kind of device has one stream, and no events
