"""SVG as text: shapes, the head of a picture with its legend, and the painter of all that was arranged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.arrangement import Arrangement
from torcheer.graph.drawing.boxes import (
    CHIP_GAP,
    CHIP_HEIGHT,
    CHIP_SIZE,
    HEADER_HEIGHT,
    LINE_HEIGHT,
    PADDING_X,
    PADDING_Y,
    STACK,
    TAG_GAP,
    TEXT_SIZE,
    TITLE_GAP,
    Palette,
    Scale,
    group_tooltip,
    ink_on,
    is_function,
    on_ramp,
    tooltip_of,
)
from torcheer.graph.drawing.diagram import Chip, Diagram, Edge, Face, Group, Node, Text, ranges
from torcheer.graph.drawing.text_width import BOLD, FONT_STACK, fitted, is_measured, printable, wrapped
from torcheer.graph.layout.layout_engine import Point, Rect, Route
from torcheer.graph.text import readable_count

# A font in which a text becomes wider than this much of its own width would be a rare one.
_WIDER_FONT = 1.12
_ARROW_LENGTH, _ARROW_HALF_WIDTH = 7.0, 3.5


def number(value: float) -> str:
    """To a tenth of a pixel, without a needless end."""
    rounded = round(value, 1)
    whole = int(rounded)
    return str(whole) if whole == rounded else str(rounded)


def attributes(**values: str) -> str:
    """` data-op="3"`; an underscore stands for a hyphen."""
    return "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(printable(value))}"
        for name, value in values.items()
    )


def title(words: str) -> str:
    """A tooltip; its lines stay lines."""
    return f"<title>{escape(chr(10).join(map(printable, words.split(chr(10)))))}</title>"


def text(line: Text, x: float, y: float, fill: str, room: float) -> str:
    """A line of text at its baseline. Where another font might need more than the room, its length is set."""
    words = line.words
    length = ""
    if line.width * _WIDER_FONT > room or not is_measured(words):
        length = f' textLength="{number(line.width)}" lengthAdjust="spacingAndGlyphs"'
    weight = ' font-weight="600"' if line.weight == BOLD else ""
    size = f' font-size="{number(line.size)}"' if line.size != TEXT_SIZE else ""
    style = f'fill="{fill}"{size}{weight}{length}'
    return f'<text x="{number(x)}" y="{number(y)}" {style}>{escape(words)}</text>'


def rect(place: Rect, fill: str, stroke: str, *, radius: float = 6.0, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    size = f'width="{number(place.width)}" height="{number(place.height)}" rx="{number(radius)}"'
    style = f'fill="{fill}" stroke="{stroke}"{dashed}'
    return f'<rect x="{number(place.x)}" y="{number(place.y)}" {size} {style}/>'


def line_of(route: Route, dx: float = 0.0, dy: float = 0.0) -> str:
    """The path of a route, moved by a little where asked."""
    path = f"M{number(route.start[0] + dx)} {number(route.start[1] + dy)}"
    for piece in route.pieces:
        path += "L" if len(piece) == 1 else "C"
        path += " ".join([f"{number(x + dx)} {number(y + dy)}" for x, y in piece])
    return path


def arrow_head(tip: Point, towards: Point) -> str:
    """A triangle with its tip at a point; `towards` is the direction, along one of the axes."""
    (x, y), (dx, dy) = tip, towards
    back_x, back_y = x - _ARROW_LENGTH * dx, y - _ARROW_LENGTH * dy
    side_x, side_y = _ARROW_HALF_WIDTH * dy, _ARROW_HALF_WIDTH * dx
    return (
        f"M{number(x)} {number(y)}L{number(back_x + side_x)} {number(back_y + side_y)}"
        f"L{number(back_x - side_x)} {number(back_y - side_y)}Z"
    )


def axis_direction(start: Point, end: Point) -> Point:
    """From one point to another, as a step of one along the axis that it mostly follows."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    if abs(dx) > abs(dy):
        return (1.0 if dx > 0 else -1.0), 0.0
    return 0.0, (-1.0 if dy < 0 else 1.0)


def page(width: float, height: float, canvas: str, name: str, content: Iterable[str]) -> str:
    """A whole SVG file."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    style = f'font-family={quoteattr(FONT_STACK)} font-size="{number(TEXT_SIZE)}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {style}>\n'
        f"{title(name)}\n"
        f'<rect width="{number(width)}" height="{number(height)}" fill="{canvas}"/>\n'
    )
    return head + "\n".join(content) + "\n</svg>\n"


_MARGIN = 24.0
_TITLE_SIZE = 20.0
_LINE = 16.0
_ENTRY_GAP, _SWATCH = 18.0, 22.0
_LEAST_WIDTH = 460.0
_MOST_ROWS = 4  # of one line that is too long
_SCALE_WIDTH, _SCALE_STEPS = 160.0, 40

_LOOKS = {
    "input": "input",
    "output": "output",
    "params": "op with parameters",
    "op": "op without parameters",
    "buffer": "buffer",
    "source": "made from nothing: constant, random draw",
    "collapsed": "module, not opened",
    "collapsed_params": "module with parameters, not opened",
}

Sample = Callable[[float, float], str]  # paints a small example at a place

_BASELINE = 11.5  # of a line, below its top
_GRADIENT_BESIDE = 6.0


class Painter:
    """Writes the SVG of a picture: what stands above it, then what was arranged."""

    def __init__(
        self, document: PassDocument, diagram: Diagram, arrangement: Arrangement, palette: Palette
    ) -> None:
        self.document = document
        self.diagram = diagram
        self.arrangement = arrangement
        self.palette = palette
        self.dx = self.dy = 0.0  # the place of the arrangement, below the head

    def paint(self, scale: Scale | None, *, with_legend: bool) -> tuple[str, float, float]:
        """The file, its width and its height."""
        whole = self.arrangement
        head_width = max(_LEAST_WIDTH, whole.width)
        head, bottom = self._head(head_width, scale, with_legend=with_legend)
        width = head_width + 2 * _MARGIN
        self.dx = (width - whole.width) / 2 if whole.width < head_width else _MARGIN
        self.dy = bottom + _MARGIN
        height = self.dy + whole.height + _MARGIN
        name = f"{self.document.model_name}: computational graph"
        return page(width, height, self.palette.canvas, name, [*head, *self._parts()]), width, height

    def _parts(self) -> Iterator[str]:
        whole = self.arrangement
        for group, depth in whole.groups:
            yield self._group(group, depth)
        wires = [(edge, route.moved(self.dx, self.dy)) for edge, route in whole.wires]
        connectors = [
            _wire(edge, route.moved(self.dx, self.dy))._replace(is_back=False)
            for edge, route in whole.connectors
        ]
        yield from _strokes("connector", self.palette.wire, connectors, stroke_dasharray="1.5 3.5")
        yield from self._wires(wires)
        for node in whole.nodes:
            yield from self._node(node)
        for edge, route in wires:
            if route.label is not None:
                yield self._label(edge, route.label)

    def _group(self, group: Group, depth: int) -> str:
        place = group.rect.moved(self.dx, self.dy)
        kind, dashes = "module", ""
        if not group.scopes:
            kind, dashes = "stretch", "2 3"
        elif is_function(self.document, group):
            kind, dashes = "function", "6 4"
        fills = self.palette.group_fills
        frame = rect(place, fills[depth % len(fills)], self.palette.group_stroke, dashes=dashes)
        y = place.y + HEADER_HEIGHT / 2 + 4.0
        x = place.x + PADDING_X
        texts = ""
        for line in group.header:
            texts += text(line, x, y, self._ink(line), line.width + TITLE_GAP / 2)
            x += line.width + TITLE_GAP
        data = _data("group", group, kind, data_scope=_ranges(group.repeated or group.scopes))
        return f"<g{data}>{title(group_tooltip(self.document, group))}{frame}{texts}</g>"

    def _node(self, node: Node) -> Iterator[str]:
        look = self.palette.looks[node.face.kind]
        place = node.rect.moved(self.dx, self.dy)
        fill = node.fill or look.fill
        ops, scopes = _ranges(node.stands_for or node.ops), _ranges(node.scopes or node.calls)
        data = _data("node", node, node.face.kind, data_op=ops, data_scope=scopes)
        yield f"<g{data}>{title(tooltip_of(self.document, node))}"
        if node.is_collapsed:
            front = Rect(place.x, place.y, place.width - STACK, place.height - STACK)
            yield rect(front.moved(STACK, STACK), fill, look.stroke)
            place = front
        yield rect(place, fill, look.stroke, dashes=look.dashes)
        yield from self._texts(node.face, place, ink_on(node.fill, self.palette) if node.fill else "")
        yield "</g>"

    def _texts(self, face: Face, place: Rect, one_ink: str) -> Iterator[str]:
        left, right = place.x + PADDING_X, place.x + place.width - PADDING_X
        y = place.y + PADDING_Y
        for row in face.chips_in:
            x = left
            for chip in row:
                yield self._chip(chip, x, y)
                x += chip.width + CHIP_GAP
            y += CHIP_HEIGHT + CHIP_GAP
        first, *others = face.lines
        end = right - sum(tag.width + TAG_GAP for tag in face.tags)
        yield text(first, left, y + _BASELINE, one_ink or self._ink(first), end - left)
        for tag in reversed(face.tags):
            yield text(tag, right - tag.width, y + _BASELINE, one_ink or self._ink(tag), tag.width)
            right -= tag.width + TAG_GAP
        y += LINE_HEIGHT
        for line in others:
            room = place.width - PADDING_X - 2.0
            yield text(line, left, y + _BASELINE, one_ink or self._ink(line), room)
            y += LINE_HEIGHT
        if face.chip_out is not None:
            yield self._chip(face.chip_out, left, y + CHIP_GAP)

    def _chip(self, chip: Chip, x: float, y: float) -> str:
        sources = " ".join(str(edge.source.key) for edge in chip.edges)
        data = attributes(class_="chip", data_from=sources) if sources else attributes(class_="readers")
        shape = rect(
            Rect(x, y, chip.width, CHIP_HEIGHT), self.palette.chip_fill, "none", radius=CHIP_HEIGHT / 2
        )
        words = Text(words=chip.words, size=CHIP_SIZE)
        letters = text(words, x + 5.0, y + CHIP_HEIGHT - 4.0, self.palette.chip_text, chip.width - 5.0)
        return f"<g{data}>{title(chip.tooltip)}{shape}{letters}</g>"

    def _ink(self, line: Text) -> str:
        ink: str = getattr(self.palette, line.ink)
        return ink

    def _wires(self, wires: list[tuple[Edge, Route]]) -> Iterator[str]:
        palette = self.palette
        for kind, colour, dashes in (("data", palette.wire, ""), ("condition", palette.condition, "5 3")):
            lines = [_wire(edge, route) for edge, route in wires if edge.kind == kind]
            dashed = {"stroke_dasharray": dashes} if dashes else {}
            yield from _strokes(kind, colour, lines, stroke_width="1.2", **dashed)
        gradients = [_gradient(edge, route) for edge, route in wires if edge.has_gradient]
        yield from _strokes(
            "gradient", palette.gradient, gradients, stroke_width="1", stroke_dasharray="3 2.5"
        )

    def _label(self, edge: Edge, place: Rect) -> str:
        colour = self.palette.condition if edge.kind == "condition" else self.palette.text_3
        words = Text(words=edge.text)
        letters = text(words, place.x + 2.0, place.y + place.height - 3.0, colour, place.width - 2.0)
        data = attributes(class_="label", data_from=str(edge.source.key), data_to=str(edge.target.key))
        return f"<g{data}>{letters}</g>"

    def _head(self, width: float, scale: Scale | None, *, with_legend: bool) -> tuple[list[str], float]:
        """Title, then notes, then the legend in rows of this width; and where all of it ends."""
        palette = self.palette
        words = fitted(printable(self.document.model_name), width, _TITLE_SIZE, BOLD)
        name = Text(words=words, size=_TITLE_SIZE, weight=BOLD)
        content = ['<g class="head">', text(name, _MARGIN, _MARGIN + 20.0, palette.text, width)]
        y = _MARGIN + 30.0
        for words, ink in self._notes():
            for part in wrapped(printable(words), width, TEXT_SIZE)[:_MOST_ROWS]:
                content.append(text(Text(words=part), _MARGIN, y + 10.0, ink, width))
                y += _LINE
        if with_legend:
            x, y, is_empty = _MARGIN, y + 6.0, True
            for words, sample in self._entries():
                line = Text(words=words)
                needed = _SWATCH + 6.0 + line.width
                if not is_empty and x - _MARGIN + needed > width:
                    x, y = _MARGIN, y + _LINE + 2.0
                content.append(sample(x, y))
                content.append(text(line, x + _SWATCH + 6.0, y + 10.0, palette.text_2, line.width * 1.2))
                x, is_empty = x + needed + _ENTRY_GAP, False
            y += 0.0 if is_empty else _LINE + 2.0
        if scale is not None and with_legend:
            content.extend(_scale(scale, palette, _MARGIN, y + 4.0))
            y += 38.0
        return [*content, "</g>"], y

    def _notes(self) -> Iterator[tuple[str, str]]:
        """Lines below the title, each with its ink."""
        document, palette = self.document, self.palette
        hidden = self.diagram.hidden
        shown = [op for index, op in enumerate(document.ops) if index not in hidden and op.kind == "op"]
        flops = sum(op.flops or 0 for op in shown)
        facts = [f"{len(shown)} op" + ("s" if len(shown) != 1 else "")]
        if document.num_params:
            facts.append(f"{readable_count(document.num_params)} params")
        if flops:
            facts.append(f"{readable_count(flops)} FLOPs")
        if document.is_shape_only:
            facts.append("shapes only, nothing was computed")
        yield " · ".join(facts), palette.text_2
        if document.error:
            first, *others = document.error.strip().splitlines() or ["an exception"]
            for line in (f"The model raised {first}", *others[-1:], "This is the pass up to there."):
                yield line, palette.danger
        if document.stopped_after:
            yield f"Stopped after {document.stopped_after}.", palette.mark
        if self.arrangement.note:
            yield self.arrangement.note, palette.text_3

    def _entries(self) -> list[tuple[str, Sample]]:
        """Of the legend: only what occurs."""
        palette, edges, nodes = self.palette, self.diagram.edges, self.arrangement.nodes
        kinds = {node.face.kind for node in nodes}
        functions = [is_function(self.document, group) for group, _ in self.arrangement.groups]
        backwards = any(edge.is_back for edge in edges)
        condition = any(edge.kind == "condition" for edge in edges)
        gradient = any(edge.has_gradient and not edge.is_chip for edge in edges)
        passes = any(len(node.ops) > 1 and not node.is_collapsed for node in nodes)
        times = partial(_word_sample, palette)
        entries: tuple[tuple[bool, str, Sample], ...] = (
            *((kind in kinds, words, partial(_box_sample, palette, kind)) for kind, words in _LOOKS.items()),
            (not all(functions), "module", partial(_frame_sample, palette, "")),
            (any(functions), "function of torch, opened", partial(_frame_sample, palette, "4 2.5")),
            (backwards, "back to an earlier box", partial(_line_sample, palette.wire, "", True)),
            (condition, "decided what ran", partial(_line_sample, palette.condition, "5 3", False)),
            (gradient, "gradient", partial(_line_sample, palette.gradient, "3 2.5", True)),
            (any(edge.is_chip for edge in edges), "comes from further away", partial(_chip_sample, palette)),
            (passes, "passes of one layer", times),
            (self.diagram.num_folded > 0, "equal blocks, drawn once", times),
        )
        return [(words, sample) for occurs, words, sample in entries if occurs]


def _data(what: str, part: Node | Group, kind: str, **values: str) -> str:
    """The attributes that say what a box is."""
    repeats = {"data_repeats": str(part.num_repeats)} if part.num_repeats > 1 else {}
    return attributes(class_=what, data_key=str(part.key), data_kind=kind, **values, **repeats)


def _ranges(numbers: Iterable[int]) -> str:
    return ranges(sorted(set(numbers)), "-", " ")


class _Stroke(NamedTuple):
    source: Node
    target: Node
    path: str
    head: str
    is_back: bool = False


def _strokes(kind: str, colour: str, lines: Sequence[_Stroke], **style: str) -> Iterator[str]:
    """Lines of one look, then the heads of their arrows."""
    if not lines:
        return
    yield f"<g{attributes(class_='edges', fill='none', stroke=colour, **style)}>"
    for line in lines:
        ends = f'data-from="{line.source.key}" data-to="{line.target.key}"'
        back = ' data-back="1"' if line.is_back else ""
        yield f'<path class="{kind}" {ends}{back} d="{line.path}"/>'
    yield "</g>"
    yield f'<path class="heads" fill="{colour}" d="{"".join(line.head for line in lines)}"/>'


def _wire(edge: Edge, route: Route) -> _Stroke:
    before = route.pieces[-2][-1] if len(route.pieces) > 1 else route.start
    last = route.pieces[-1]
    direction = axis_direction(before if len(last) == 1 else last[1], last[-1])
    return _Stroke(edge.source, edge.target, line_of(route), arrow_head(route.end, direction), edge.is_back)


def _gradient(edge: Edge, route: Route) -> _Stroke:
    """Beside the forward wire: to the left of it, or above where it runs to the right."""
    away = axis_direction(route.start, route.pieces[0][0])
    dx, dy = (-_GRADIENT_BESIDE, 0.0) if away[0] == 0 else (0.0, -_GRADIENT_BESIDE)
    head = arrow_head((route.start[0] + dx, route.start[1] + dy), (-away[0], -away[1]))
    return _Stroke(edge.target, edge.source, line_of(route, dx, dy), head)


def _box_sample(palette: Palette, kind: str, x: float, y: float) -> str:
    look = palette.looks[kind]
    if not kind.startswith("collapsed"):
        return rect(Rect(x, y, _SWATCH, 13.0), look.fill, look.stroke, radius=3.0, dashes=look.dashes)
    front = Rect(x, y, _SWATCH - 3.0, 10.0)
    return "".join(rect(one, look.fill, look.stroke, radius=3.0) for one in (front.moved(3.0, 3.0), front))


def _frame_sample(palette: Palette, dashes: str, x: float, y: float) -> str:
    place = Rect(x, y, _SWATCH, 13.0)
    return rect(place, palette.group_fills[0], palette.group_stroke, radius=3.0, dashes=dashes)


def _line_sample(colour: str, dashes: str, backwards: bool, x: float, y: float) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    middle = y + 6.5
    tip, towards = ((x, middle), (-1.0, 0.0)) if backwards else ((x + _SWATCH, middle), (1.0, 0.0))
    ends = f"M{number(x)} {number(middle)}H{number(x + _SWATCH)}"
    line = f'<path d="{ends}" fill="none" stroke="{colour}" stroke-width="1.2"{dashed}/>'
    return f'{line}<path d="{arrow_head(tip, towards)}" fill="{colour}"/>'


def _chip_sample(palette: Palette, x: float, y: float) -> str:
    arrow = text(Text(words="↗", size=10.0), x + 6.5, y + 10.0, palette.chip_text, _SWATCH)
    return rect(Rect(x, y, _SWATCH, 13.0), palette.chip_fill, "none", radius=6.5) + arrow


def _word_sample(palette: Palette, x: float, y: float) -> str:
    return text(Text(words="× n", weight=BOLD), x, y + 10.0, palette.text, _SWATCH + 4.0)


def _scale(scale: Scale, palette: Palette, left: float, y: float) -> Iterable[str]:
    step = _SCALE_WIDTH / _SCALE_STEPS
    yield '<g class="scale">'
    for i in range(_SCALE_STEPS):
        colour = on_ramp((i + 0.5) / _SCALE_STEPS, palette.sequential)
        place = f'x="{number(left + i * step)}" y="{number(y)}" width="{number(step + 0.5)}"'
        yield f'<rect {place} height="10" fill="{colour}"/>'
    low = Text(words=scale.words(scale.low))
    high = Text(words=scale.words(scale.high))
    yield text(low, left, y + 23.0, palette.text_2, _SCALE_WIDTH)
    yield text(
        high, left + max(_SCALE_WIDTH - high.width, low.width + 8.0), y + 23.0, palette.text_2, _SCALE_WIDTH
    )
    name = Text(words=fitted(printable(scale.title), 240.0, TEXT_SIZE))
    yield text(name, left + _SCALE_WIDTH + 12.0, y + 9.0, palette.text_2, 280.0)
    yield "</g>"
