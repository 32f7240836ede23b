"""Colour boxes by a metric, by the figures of a function, or by the colours it returned."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torcheer.errors import InputError
from torcheer.graph.document import OpEntry, PassDocument
from torcheer.graph.drawing.colours import hex_colour, on_ramp
from torcheer.graph.drawing.diagram import Node
from torcheer.graph.drawing.options import Drawing, Figure
from torcheer.graph.drawing.themes import Palette
from torcheer.graph.sizes import readable_bytes, readable_count, readable_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What the colours mean."""

    title: str
    low: float
    high: float
    words: Callable[[float], str]


@dataclass(slots=True, kw_only=True)
class Colouring:
    """The colour of each box, by id of its node, and what it stands for."""

    fills: dict[int, str] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    scale: Scale | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metric:
    title: str
    words: Callable[[float], str]
    adds_up: bool  # over the ops of one box; else their mean is shown
    of_op: Callable[[OpEntry], float | None] | None = None


def _seconds(op: OpEntry) -> float | None:
    return op.seconds if op.kind == "op" else None


_METRICS = {
    "time": _Metric(title="time", words=readable_seconds, adds_up=True, of_op=_seconds),
    "memory": _Metric(
        title="size of the output", words=readable_bytes, adds_up=True, of_op=lambda op: op.num_bytes
    ),
    "flops": _Metric(
        title="FLOPs",
        words=lambda value: readable_count(round(value)),
        adds_up=True,
        of_op=lambda op: op.flops,
    ),
    "zeros": _Metric(title="share of zeros", words=lambda value: f"{value:.1%}", adds_up=False),
}


def colour_boxes(
    document: PassDocument,
    nodes: Sequence[Node],
    drawing: Drawing,
    palette: Palette,
    figures: Sequence[Figure] | None,
    title: str,
) -> Colouring:
    """Nothing is coloured where nothing was asked for."""
    if drawing.color_by is None and figures is None:
        return Colouring()
    metric = _metric(drawing, title)
    if figures is None:
        figures = _figures_of(document, drawing, metric)
    if len(figures) != len(document.ops):
        raise InputError(f"one figure an op is needed: there are {len(document.ops)}, not {len(figures)}.")
    colouring = Colouring()
    values: dict[int, float] = {}
    for node in nodes:
        own = [_checked(figures[index], document.ops[index].label) for index in node.ops]
        colours = [figure for figure in own if isinstance(figure, str)]
        numbers = [figure for figure in own if isinstance(figure, float)]
        if colours:
            colouring.fills[id(node)] = Counter(colours).most_common(1)[0][0]
        elif numbers:
            values[id(node)] = math.fsum(numbers) if metric.adds_up else math.fsum(numbers) / len(numbers)
    if values:
        _fill_by_scale(colouring, values, metric, palette)
    return colouring


def _metric(drawing: Drawing, title: str) -> _Metric:
    if isinstance(drawing.color_by, str):
        known = _METRICS[drawing.color_by]
        return _Metric(
            title=title or known.title, words=known.words, adds_up=known.adds_up, of_op=known.of_op
        )
    name = title or getattr(drawing.color_by, "__name__", "")
    return _Metric(
        title="" if name.strip("<>") == "lambda" else name, words=lambda value: f"{value:.4g}", adds_up=False
    )


def _figures_of(document: PassDocument, drawing: Drawing, metric: _Metric) -> list[Figure]:
    if metric.of_op is None:
        raise InputError(
            f"colouring by {drawing.color_by!r} needs the tensors of the pass, and a document has none: "
            "draw from the history, history.draw(vis_color_by=…)."
        )
    return [metric.of_op(op) for op in document.ops]


def _checked(figure: object, label: str) -> Figure:
    """A colour as `#rrggbb`, a finite number as a float, None for nothing."""
    if isinstance(figure, str):
        colour = hex_colour(figure)
        if colour is None:
            raise InputError(
                f"vis_color_by gave {figure!r} for {label}, which is no colour: write '#ffcc00' or a name "
                "such as 'gold', or return a number to be coloured on a scale."
            )
        return colour
    if figure is None:
        return None
    try:
        number = float(figure)  # type: ignore[arg-type]  # also what torch and numpy call a number
    except (TypeError, ValueError) as error:
        raise InputError(
            f"vis_color_by gave a {type(figure).__name__} for {label}: return a colour, a number or None."
        ) from error
    return number if math.isfinite(number) else None


def _fill_by_scale(colouring: Colouring, values: dict[int, float], metric: _Metric, palette: Palette) -> None:
    low, high = min(0.0, *values.values()), max(values.values())
    span = high - low
    for key, value in values.items():
        colouring.fills[key] = on_ramp((value - low) / span if span > 0 else 0.0, palette.sequential)
        colouring.words[key] = metric.words(value)
    colouring.scale = Scale(title=metric.title, low=low, high=high, words=metric.words)
