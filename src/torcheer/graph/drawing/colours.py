"""The colours of a picture: two themes, colours as users write them, and boxes coloured by figures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from torcheer.errors import InputError
from torcheer.graph.document import OpEntry, PassDocument
from torcheer.graph.drawing.diagram import Node
from torcheer.graph.text import readable_bytes, readable_count, readable_seconds

if TYPE_CHECKING:
    from torcheer.graph.drawing.picture import Drawing, Figure


class Look(NamedTuple):
    """How the box of one kind of op is painted."""

    fill: str
    stroke: str
    dashes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """All colours of one theme."""

    canvas: str
    text: str
    text_2: str
    text_3: str
    wire: str
    condition: str
    gradient: str
    mark: str
    danger: str
    chip_fill: str
    chip_text: str
    group_fills: tuple[str, ...]  # by depth, in turn
    group_stroke: str
    looks: Mapping[str, Look]
    sequential: tuple[str, ...]
    ink_on_light: str
    ink_on_dark: str


# Light and dark.
_COLOURS = {
    "canvas": ("#FFFFFF", "#111416"),
    "text": ("#16191D", "#E8EBEE"),
    "text_2": ("#4A525B", "#AAB2BB"),
    "text_3": ("#626B75", "#8B949E"),
    "wire": ("#7A838D", "#818A94"),
    "condition": ("#D67C0F", "#EC7E07"),
    "gradient": ("#9269F1", "#A79BFF"),
    "mark": ("#8A5A00", "#E6B450"),
    "danger": ("#BF232B", "#FF7F7A"),
    "chip_fill": ("#E4EEF7", "#182C3D"),
    "chip_text": ("#0B4F7C", "#8CC4F2"),
    "group_stroke": ("#CDD2D8", "#3A4149"),
    "ink_on_light": ("#16191D", "#101214"),
    "ink_on_dark": ("#FFFFFF", "#E8EBEE"),
}
_GROUP_FILLS = (("#F6F7F8", "#FFFFFF"), ("#171A1E", "#111416"))
# Fill and stroke of each kind of box, light and dark.
_LOOKS = {
    "op": (("#FFFFFF", "#AEB5BD"), ("#1C2024", "#4C545D")),
    "params": (("#E4E7EA", "#99A1AA"), ("#2E353C", "#626C77")),
    "input": (("#DDF3E2", "#2F8F4E"), ("#15301F", "#58BE7C")),
    "output": (("#FBE2E2", "#BF232B"), ("#3A1B1C", "#FF7F7A")),
    "buffer": (("#FFFFFF", "#626B75"), ("#1C2024", "#8B949E")),
    "source": (("none", "#AEB5BD"), ("none", "#4C545D")),
    "collapsed": (("#FFFFFF", "#AEB5BD"), ("#1C2024", "#4C545D")),
    "collapsed_params": (("#E4E7EA", "#99A1AA"), ("#2E353C", "#626C77")),
}
_DASHES = {"buffer": "1.5 3", "source": "5 3"}
_SEQUENTIAL = (
    "#ECF6F5 #C1EAE4 #93DBD2 #60C2BB #2EA7A7 #127E8E #0B6B89 #104F7E #193866 #1A224D",
    "#1C2229 #202E45 #233B60 #1D5276 #146B88 #1B909B #30A8A5 #53C8B7 #9AE2BE #DDFAC1",
)


def _palette(theme: int) -> Palette:
    return Palette(
        **{name: both[theme] for name, both in _COLOURS.items()},
        group_fills=_GROUP_FILLS[theme],
        looks={kind: Look(*both[theme], _DASHES.get(kind, "")) for kind, both in _LOOKS.items()},
        sequential=tuple(_SEQUENTIAL[theme].split()),
    )


PALETTES: Mapping[str, Palette] = {"light": _palette(0), "dark": _palette(1)}


_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


def hex_colour(colour: str) -> str | None:
    """`#ffcc00` for '#fc0', '#FFCC00' or a name such as 'gold'; None for anything else."""
    from PIL import ImageColor  # slow to import, and few pictures need it

    colour = colour.strip().lower()
    if colour not in ImageColor.colormap and not _HEX.fullmatch(colour):
        return None
    red, green, blue = ImageColor.getrgb(colour)[:3]
    return f"#{red:02x}{green:02x}{blue:02x}"


def ink_on(colour: str, palette: Palette) -> str:
    """Whichever of the two inks contrasts more."""
    return max((palette.ink_on_light, palette.ink_on_dark), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """From 1 to 21, as the web accessibility guidelines define it."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def on_ramp(share: float, ramp: tuple[str, ...]) -> str:
    """The colour at a share from 0 to 1 of a ramp, between its steps too."""
    place = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    low = min(int(place), len(ramp) - 2)
    part = place - low
    mixed = [
        round(int(ramp[low][i : i + 2], 16) * (1 - part) + int(ramp[low + 1][i : i + 2], 16) * part)
        for i in (1, 3, 5)
    ]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


class Scale(NamedTuple):
    """What the colours mean."""

    title: str
    low: float
    high: float
    words: Callable[[float], str]


class _Metric(NamedTuple):
    title: str
    words: Callable[[float], str]
    adds_up: bool  # over the ops of one box; else their mean is shown
    of_op: Callable[[OpEntry], float | None] | None = None


_METRICS = {
    "time": _Metric("time", readable_seconds, True, lambda op: op.seconds if op.kind == "op" else None),
    "memory": _Metric("size of the output", readable_bytes, True, lambda op: op.num_bytes),
    "flops": _Metric("FLOPs", lambda value: readable_count(round(value)), True, lambda op: op.flops),
    "zeros": _Metric("share of zeros", lambda value: f"{value:.1%}", False),
}


def colour_boxes(
    document: PassDocument,
    nodes: Sequence[Node],
    drawing: Drawing,
    palette: Palette,
    figures: Sequence[Figure] | None,
    title: str,
) -> Scale | None:
    """Fill the boxes as was asked for; returns what their colours mean, where they stand for numbers."""
    if drawing.color_by is None and figures is None:
        return None
    metric = _metric(drawing, title)
    if figures is None:
        if metric.of_op is None:
            raise InputError(
                f"colouring by {drawing.color_by!r} needs the tensors of the pass, and a document has none: "
                "draw from the history, history.draw(vis_color_by=…)."
            )
        figures = [metric.of_op(op) for op in document.ops]
    if len(figures) != len(document.ops):
        raise InputError(f"one figure an op is needed: there are {len(document.ops)}, not {len(figures)}.")
    values: dict[Node, float] = {}
    for node in nodes:
        own = [_checked(figures[index], document.ops[index].label) for index in node.ops]
        colours = [figure for figure in own if isinstance(figure, str)]
        numbers = [figure for figure in own if isinstance(figure, float)]
        if colours:
            node.fill = Counter(colours).most_common(1)[0][0]
        elif numbers:
            values[node] = math.fsum(numbers) / (1 if metric.adds_up else len(numbers))
    if not values:
        return None
    low, high = min(0.0, *values.values()), max(values.values())
    for node, value in values.items():
        node.fill = on_ramp((value - low) / (high - low) if high > low else 0.0, palette.sequential)
        node.figure = metric.words(value)
    return Scale(title=metric.title, low=low, high=high, words=metric.words)


def _metric(drawing: Drawing, title: str) -> _Metric:
    if isinstance(drawing.color_by, str):
        known = _METRICS[drawing.color_by]
        return known._replace(title=title or known.title)
    name = title or getattr(drawing.color_by, "__name__", "")
    return _Metric("" if name == "<lambda>" else name, lambda value: f"{value:.4g}", adds_up=False)


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
