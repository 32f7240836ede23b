"""The looks of boxes: words, chips and tooltips, measured, so that layout knows their size; and colours."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torcheer.errors import InputError
from torcheer.graph.document import OpEntry, ParamEntry, PassDocument
from torcheer.graph.drawing.diagram import Chip, Diagram, Edge, Face, Group, Node, Text
from torcheer.graph.drawing.text_width import BOLD, REGULAR, fitted, printable, text_width
from torcheer.graph.text import readable_bytes, readable_count, readable_seconds, shape_text

_MAX_OPS_IN_TOOLTIP = 12


def label_of(document: PassDocument, node: Node) -> str:
    """The name of a box: an op's label, without its pass where one box stands for all of them."""
    if node.is_collapsed:
        return address_of(document, node.calls if node.num_repeats == 1 else node.scopes)
    op = document.ops[node.ops[0]]
    if node.num_repeats > 1:
        return f"{op.label}–{document.ops[node.stands_for[-1]].label}"
    return op.label.rpartition(":")[0] if len(node.ops) > 1 else op.label


def address_of(document: PassDocument, scopes: Sequence[int]) -> str:
    """`h.0`, `h.0–h.11` of equal blocks, `h.0:2` in its second pass."""
    entries = [document.scopes[index] for index in scopes]
    # A function has no address, and that of the model is empty.
    names = list(
        dict.fromkeys(
            entry.name if entry.address is None else entry.address or document.model_name for entry in entries
        )
    )
    if len(entries) == 1 and entries[0].num_passes > 1 and entries[0].address is not None:
        return f"{names[0]}:{entries[0].pass_num}"
    return names[0] if len(names) == 1 else f"{names[0]}–{names[-1]}"


def class_of(document: PassDocument, scopes: Sequence[int]) -> str:
    """The class of the modules of a box; none for a function, whose name already stands there."""
    scope = document.scopes[scopes[0]]
    return scope.name if scope.address else ""


def is_function(document: PassDocument, group: Group) -> bool:
    """True for a function of torch that was opened up."""
    return bool(group.scopes) and document.scopes[group.scopes[0]].address is None


def holder_of(document: PassDocument, node: Node) -> str:
    """`features.0 · Conv2d`: the innermost module that holds just this op."""
    for index in reversed(node.scopes):
        scope = document.scopes[index]
        if scope.address:
            passes = f":{scope.pass_num}" if scope.num_passes > 1 and len(node.ops) == 1 else ""
            return f"{scope.address}{passes} · {scope.name}"
    return ""


def tensor_text(ops: Sequence[OpEntry]) -> str:
    """`1×64×55×55 · 756.3 KB`; where the passes of a layer differ, the first and the last: `4×4 … 10×4`."""
    shapes = _from_to([_tensor_shape(op) for op in ops])
    return f"{shapes} · {_from_to([readable_bytes(op.num_bytes) for op in ops])}"


def _tensor_shape(tensor: OpEntry | ParamEntry) -> str:
    shape = shape_text(tensor.shape)
    return shape if tensor.dtype == "float32" else f"{shape} {tensor.dtype}"


def _from_to(texts: Sequence[str]) -> str:
    if len(set(texts)) == 1:
        return texts[0]
    # Of passes that come back to where they began, some other one shows that they differ.
    last = texts[-1] if texts[-1] != texts[0] else next(text for text in texts if text != texts[0])
    return f"{texts[0]} … {last}"


def group_title(document: PassDocument, group: Group) -> tuple[str, str, str]:
    """The name of a group, how often it is there, and its class."""
    scopes = group.repeated or group.scopes
    times = group.num_repeats if group.num_repeats > 1 else len(group.scopes)
    details = [class_of(document, scopes) if group.scopes else "", "continued" if group.is_continued else ""]
    return (
        address_of(document, scopes),
        f"× {times}" if times > 1 else "",
        " · ".join(filter(None, details)),
    )


def collapsed_lines(document: PassDocument, node: Node) -> list[str]:
    """Class and number of ops, parameters, and the shape of what comes out."""
    scope = document.scopes[node.calls[0]]
    num_ops = sum(document.ops[index].kind == "op" for index in node.ops)
    count = f"{num_ops} op" + ("s" if num_ops != 1 else "")
    lines = [" · ".join(filter(None, [class_of(document, node.calls), count]))]
    if scope.num_params:
        lines.append(f"{readable_count(scope.num_params)} params")
    if scope.outputs:
        more = f" and {len(scope.outputs) - 1} more" if len(scope.outputs) > 1 else ""
        firsts = [document.scopes[call].outputs[:1] for call in node.calls]
        lines.append(f"→ {tensor_text([document.ops[op] for first in firsts for op in first])}{more}")
    return lines


def tooltip_of(document: PassDocument, node: Node) -> str:
    """All that is known, line by line."""
    if node.is_collapsed:
        ops = [document.ops[index] for index in node.ops]
        labels = [op.label for op in ops[:_MAX_OPS_IN_TOOLTIP]]
        more = [f"… {len(ops) - len(labels)} more"] if len(ops) > len(labels) else []
        seconds = sum(op.seconds for op in ops)
        lines = [label_of(document, node), *collapsed_lines(document, node), *_seconds(seconds)]
        return "\n".join([*lines, *_scope_lines(document, node.calls[:1]), ", ".join([*labels, *more])])
    op = document.ops[node.ops[0]]
    passes = [f"{len(node.ops)} passes"] if len(node.ops) > 1 else []
    repeats = len(node.stands_for) // len(node.ops) if node.stands_for else 1
    if repeats > 1:
        passes.append(f"drawn once for {repeats} equal blocks")
    params = [document.params[index] for index in op.params]
    tensor = tensor_text([document.ops[index] for index in node.ops])
    lines = [
        label_of(document, node),
        *passes,
        *([op.name] if op.name else []),
        f"{op.function}({op.arguments})" if op.kind == "op" else op.kind,
        tensor if op.dtype != "float32" else tensor.replace(" · ", " float32 · ", 1),
        *(f"{param.address} {_tensor_shape(param)}" for param in params),
        *_seconds(sum(document.ops[index].seconds for index in node.ops)),
        *([f"{readable_count(op.flops)} FLOPs"] if op.flops else []),
        *(["written in place"] if op.is_inplace else []),
        *(["edited"] if op.is_edited else []),
        *_scope_lines(document, node.scopes),
        *_source_lines(document, op),
    ]
    return "\n".join(lines)


def group_tooltip(document: PassDocument, group: Group) -> str:
    scopes = group.repeated or group.scopes
    lines = [" · ".join(filter(None, group_title(document, group)))]
    entry = document.scopes[scopes[0]]
    if entry.num_params:
        lines.append(f"{readable_count(entry.num_params)} params")
    lines.extend(_seconds(sum(document.scopes[index].seconds for index in scopes)))
    if len(group.repeated) > 1:
        lines.append(f"{group.num_repeats} equal blocks, drawn once")
    return "\n".join(lines)


def _seconds(seconds: float) -> list[str]:
    return [readable_seconds(seconds)] if seconds > 0 else []


def _scope_lines(document: PassDocument, scopes: Sequence[int]) -> list[str]:
    entries = [document.scopes[index] for index in scopes]
    return list(
        dict.fromkeys(f"{e.address} ({e.name})" if e.address else f"in {e.name}" for e in entries if e.name)
    )


def _source_lines(document: PassDocument, op: OpEntry) -> list[str]:
    """The path as it is known on every machine: below site-packages, else the file and its folder."""
    if op.source < 0:
        return []
    source = document.sources[op.source]
    path = source.file.replace("\\", "/")
    _, library, below = path.rpartition("/site-packages/")
    shown = below if library else "/".join(path.split("/")[-2:])
    return [f"{shown}:{source.line}  {source.text}"]


LABEL_SIZE, TEXT_SIZE, CHIP_SIZE = 12.0, 11.0, 10.0
LINE_HEIGHT, CHIP_HEIGHT, CHIP_GAP = 15.0, 15.0, 4.0
PADDING_X, PADDING_Y = 10.0, 7.0
HEADER_HEIGHT = 26.0
TITLE_GAP, TAG_GAP = 8.0, 10.0
STACK = 4.0  # how far the boxes behind a closed module look out

_MAX_TEXT = 250.0
_LEAST_WIDTH = 100.0
_WIDTH_STEP = 20.0  # so that boxes one below the other are mostly equally wide
_MAX_PARAM_LINES = 3
_MAX_CHIPS = 6

# Of nodes that are no call of a function.
_MEANINGS = {"updated": "written through another tensor", "alias": "the same memory, seen anew"}


def make_faces(document: PassDocument, diagram: Diagram) -> None:
    """Give every box its face, with the chips of the edges that are not drawn."""
    chips_in: dict[Node, list[Edge]] = {}
    chips_out: dict[Node, list[Edge]] = {}
    for edge in diagram.edges:
        if edge.is_chip:
            chips_in.setdefault(edge.target, []).append(edge)
            chips_out.setdefault(edge.source, []).append(edge)
    for node in diagram.nodes():
        node.face = _face(document, node, chips_in.get(node, []), chips_out.get(node, []))


def _face(document: PassDocument, node: Node, sources: list[Edge], readers: list[Edge]) -> Face:
    lines = [_label(label_of(document, node)), *(Text(words=_short(text)) for text in _lines(document, node))]
    tags = _tags(document, node)
    chips_in = _rows(_chips_in(document, sources))
    chip_out = _chip_out(document, readers) if readers else None
    widths = [lines[0].width + sum(tag.width + TAG_GAP for tag in tags), *(line.width for line in lines[1:])]
    widths += [sum(chip.width + CHIP_GAP for chip in row) - CHIP_GAP for row in chips_in]
    widths += [chip_out.width] if chip_out is not None else []
    rows_of_chips = len(chips_in) + (chip_out is not None)
    stack = STACK if node.is_collapsed else 0.0
    width = max(_LEAST_WIDTH, max(widths) + 2 * PADDING_X)
    height = len(lines) * LINE_HEIGHT + rows_of_chips * (CHIP_HEIGHT + CHIP_GAP) + 2 * PADDING_Y
    return Face(
        kind=kind_of(document, node),
        lines=lines,
        tags=tags,
        chips_in=chips_in,
        chip_out=chip_out,
        width=math.ceil(width / _WIDTH_STEP) * _WIDTH_STEP + stack,
        height=height + stack,
    )


def header_of(document: PassDocument, group: Group) -> list[Text]:
    """The title of a group."""
    name, times, details = group_title(document, group)
    texts = [_label(name), _label(times), Text(words=_short(details), ink="text_3")]
    return [text for text in texts if text.words]


def width_of_texts(texts: Sequence[Text]) -> float:
    """Of texts side by side."""
    return sum(text.width for text in texts) + TITLE_GAP * (len(texts) - 1)


def _lines(document: PassDocument, node: Node) -> list[str]:
    """What stands below the label."""
    if node.is_collapsed:
        return collapsed_lines(document, node)
    op = document.ops[node.ops[0]]
    # Of an input, an output or a buffer its name, where it says more than that it is one.
    name = _MEANINGS.get(op.type, "" if op.name == op.kind else op.name)
    if node.num_repeats > 1:
        name = f"{op.name}–{document.ops[node.stands_for[-1]].name}"
    tensor = tensor_text([document.ops[index] for index in node.ops])
    texts = [name, holder_of(document, node), tensor, *_param_lines([document.params[i] for i in op.params])]
    return [text for text in texts if text]


def _tags(document: PassDocument, node: Node) -> list[Text]:
    tags = []
    for times in (len(node.calls) if node.is_collapsed else len(node.ops), node.num_repeats):
        if times > 1:
            tags.append(Text(words=f"× {times}", ink="text", weight=BOLD))
    if not node.is_collapsed and document.ops[node.ops[0]].is_inplace:
        tags.append(Text(words="in place", ink="mark"))
    if any(document.ops[index].is_edited for index in node.ops):
        tags.append(Text(words="edited", ink="mark", weight=BOLD))
    return [*tags, Text(words=node.figure)] if node.figure else tags


def _chips_in(document: PassDocument, edges: list[Edge]) -> list[Chip]:
    num_shown = len(edges) if len(edges) <= _MAX_CHIPS else _MAX_CHIPS - 1
    names = []
    for edge in edges:
        op = document.ops[edge.source.order]
        # What the user calls it, where it has such a name.
        name = op.name if op.kind == "input" and op.name else label_of(document, edge.source)
        names.append(f"{edge.text}: {printable(name)} ↗" if edge.text else f"{printable(name)} ↗")
    chips = [_chip(name, name, edge) for name, edge in zip(names[:num_shown], edges, strict=False)]
    if num_shown < len(edges):
        rest = edges[num_shown:]
        chips.append(_chip(f"and {len(rest)} more", "\n".join(names[num_shown:]), *rest))
    return chips


def _chip_out(document: PassDocument, edges: list[Edge]) -> Chip:
    names = [label_of(document, edge.target) for edge in edges]
    words = f"{names[0]} ↘" if len(names) == 1 else f"{len(names)} more readers ↘"
    return _chip(words, "\n".join(names))


def _chip(words: str, tooltip: str, *edges: Edge) -> Chip:
    words = _short(words, CHIP_SIZE)
    return Chip(words=words, edges=edges, tooltip=tooltip, width=text_width(words, CHIP_SIZE) + 10.0)


def kind_of(document: PassDocument, node: Node) -> str:
    """Which look a box has."""
    ops = [document.ops[index] for index in node.ops]
    has_params = any(op.params for op in ops)
    if node.is_collapsed:
        return "collapsed_params" if has_params else "collapsed"
    op = ops[0]
    if op.kind != "op":
        return op.kind
    if has_params:
        return "params"
    return "op" if op.parents else "source"


def _label(words: str) -> Text:
    return Text(words=_short(words, LABEL_SIZE, BOLD), ink="text", size=LABEL_SIZE, weight=BOLD)


def _short(words: str, size: float = TEXT_SIZE, weight: int = REGULAR) -> str:
    return fitted(printable(words), _MAX_TEXT, size, weight)


def _rows(chips: Sequence[Chip]) -> list[list[Chip]]:
    rows: list[list[Chip]] = []
    used = 0.0
    for chip in chips:
        if not rows or used + chip.width > _MAX_TEXT:
            rows.append([])
            used = 0.0
        rows[-1].append(chip)
        used += chip.width + CHIP_GAP
    return rows


def _param_lines(params: Sequence[ParamEntry]) -> list[str]:
    """`weight 64×3×11×11`, joined by commas, as many to a line as fit."""
    texts = [f"{param.address.rpartition('.')[2]} {shape_text(param.shape)}" for param in params]
    lines: list[str] = []
    for text in texts:
        joined = f"{lines[-1]}, {text}" if lines else text
        if lines and text_width(joined, TEXT_SIZE) <= _MAX_TEXT * 0.8:
            lines[-1] = joined
        else:
            lines.append(text)
    if len(lines) > _MAX_PARAM_LINES:
        shown = lines[: _MAX_PARAM_LINES - 1]
        num_shown = sum(line.count(", ") + 1 for line in shown)
        lines = [*shown, f"and {len(texts) - num_shown} more parameters"]
    return lines


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


Figure = float | str | None  # a number to be coloured on a scale, a colour, or nothing


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
    color_by: object,
    palette: Palette,
    figures: Sequence[Figure] | None,
    title: str,
) -> Scale | None:
    """Fill the boxes as was asked for; returns what their colours mean, where they stand for numbers."""
    if color_by is None and figures is None:
        return None
    metric = _metric(color_by, title)
    if figures is None:
        if metric.of_op is None:
            raise InputError(
                f"colouring by {color_by!r} needs the tensors of the pass, and a document has none: "
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


def _metric(color_by: object, title: str) -> _Metric:
    if isinstance(color_by, str):
        known = _METRICS[color_by]
        return known._replace(title=title or known.title)
    name = title or getattr(color_by, "__name__", "")
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
