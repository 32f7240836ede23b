"""Take a number as it is given: at once where it may change, later where the training would wait for it."""

from __future__ import annotations

import sys
from typing import Any, SupportsFloat

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
