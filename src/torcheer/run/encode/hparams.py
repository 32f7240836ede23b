"""Hyperparameters, what came of them, and layouts of charts, as records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from torcheer.errors import InputError
from torcheer.run.encode.steps_and_names import plain_text
from torcheer.run.records import Encoded, HparamsHead, LayoutChart, LayoutGroup, LayoutHead, Plain

_MAX_CHARACTERS = 1000  # of one value, where it is no number
_MARGIN_NAMES = 3  # value, lower, upper


def encode_hparams(hparams: Any, metrics: Any) -> Encoded:
    """Numbers, truth and text as they are, all else as it is written. Nested ones get names with slashes."""
    values = {name: _plain(value) for name, value in _flat(hparams, "hparams")}
    results = {name: _number(name, value) for name, value in _flat(metrics or {}, "metrics")}
    return Encoded(HparamsHead(hparams=values, metrics=results), b"")


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
        number = _as_float(value)
        return number if math.isfinite(number) else None
    text = plain_text(value)
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"


def _as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def _number(name: str, value: Any) -> float | None:
    if hasattr(value, "item"):
        value = value.item()  # of a tensor of one number, whatever its dimensions
    if not isinstance(value, int | float):
        raise InputError(f"metric {name[:80]!r} is a {type(value).__name__}: give a number.")
    number = _as_float(value)
    return number if math.isfinite(number) else None


def encode_layout(layout: Any) -> Encoded:
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
    return Encoded(LayoutHead(groups=groups), b"")


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
