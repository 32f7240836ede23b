"""Plain values that somebody logs: steps, times, names, texts, numbers, hyperparameters, layouts."""

from __future__ import annotations

import math
import operator
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, SupportsFloat

from torcheer.errors import InputError
from torcheer.run.records import (
    Encoded,
    HparamsHead,
    LayoutChart,
    LayoutGroup,
    LayoutHead,
    Pending,
    Plain,
    TextHead,
    plain_text,
)

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


def text_record(value: Any) -> Pending:
    """What somebody wants to read: text, or bytes that are text, or anything that can be written."""
    is_bytes = isinstance(value, bytes | bytearray)
    text = bytes(value).decode("utf-8", "backslashreplace") if is_bytes else plain_text(value)
    return Pending(len(text), lambda: Encoded(TextHead(num_characters=len(text)), text.encode()))


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


def single_number(value: Any) -> Any:
    """The same of a value that must be a number."""
    number = number_of(value)
    if number is NOT_A_NUMBER:
        shape = f" of shape {tuple(value.shape)}" if hasattr(value, "shape") else ""
        raise InputError(
            f"a {type(value).__name__}{shape} is no single number: log x.mean(), or use add_tensor, add_text."
        )
    return number


def _number_of_tensor(value: Any) -> Any:
    if not _has_one_element(value) or value.dtype.is_complex:
        return NOT_A_NUMBER
    # A tensor on "meta" has no value and says so here, in the caller's own line.
    if value.device.type in ("cpu", "meta"):
        return float(value.detach().item())
    return OnDevice(value)


def _has_one_element(value: Any) -> bool:
    """True if the shape is (), (1,), (1, 1) and so on."""
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


_MAX_CHARACTERS = 1000  # of one value, where it is no number
_MARGIN_NAMES = 3  # value, lower, upper


def hparams_record(hparams: Any, metrics: Any) -> Pending:
    """Numbers, truth and text as they are, all else as it is written. Nested ones get names with slashes."""
    values = {name: _plain(value) for name, value in _flat(hparams, "hparams")}
    results = {name: _metric(name, value) for name, value in _flat(metrics or {}, "metrics")}
    encoded = Encoded(HparamsHead(hparams=values, metrics=results), b"")
    return Pending(0, lambda: encoded)


def _flat(values: Any, what: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(values, Mapping):
        try:
            values = vars(values)  # what argparse gives
        except TypeError:
            raise InputError(
                f"{what} are a {type(values).__name__}: give names and values, as a dict."
            ) from None
    for key, value in values.items():
        name = prefix + plain_text(key)
        if isinstance(value, Mapping):
            yield from _flat(value, what, f"{name}/")
        else:
            yield name, value


def _plain(value: Any) -> Plain:
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return finite_or_none(value)
    text = plain_text(value)
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"


def finite_or_none(value: Any) -> float | None:
    """JSON has no NaN and no infinities."""
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:  # a whole number beyond all floats
        return None
    return number if math.isfinite(number) else None


def _metric(name: str, value: Any) -> float | None:
    if hasattr(value, "item"):
        value = value.item()  # of a tensor of one number, whatever its dimensions
    if not isinstance(value, int | float):
        raise InputError(f"metric {name[:80]!r} is a {type(value).__name__}: give a number.")
    return finite_or_none(value)


def layout_record(layout: Any) -> Pending:
    """`{"group": {"chart": ["Multiline", [names]], "other": ["Margin", [value, lower, upper]]}}`."""
    if not isinstance(layout, Mapping) or not all(isinstance(charts, Mapping) for charts in layout.values()):
        raise InputError('give {"group": {"chart": ["Multiline", ["train/loss", "test/loss"]]}}.')
    groups = [
        LayoutGroup(
            title=plain_text(group),
            charts=[_chart(plain_text(title), chart) for title, chart in charts.items()],
        )
        for group, charts in layout.items()
    ]
    encoded = Encoded(LayoutHead(groups=groups), b"")
    return Pending(0, lambda: encoded)


def _chart(title: str, chart: Any) -> LayoutChart:
    try:
        form, names = chart[0], chart[1]
    except (TypeError, IndexError, KeyError):
        raise InputError(
            f"chart {title[:80]!r}: give its form and its names, ['Multiline', [...]]."
        ) from None
    listed = [plain_text(name) for name in ([names] if isinstance(names, str) else names)]
    if form != "Margin":
        return LayoutChart(title=title, form="lines", names=listed)
    if len(listed) != _MARGIN_NAMES:
        raise InputError(f"chart {title[:80]!r}: a margin has three names: value, lower, upper.")
    return LayoutChart(title=title, form="margin", names=listed)
