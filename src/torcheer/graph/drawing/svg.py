"""SVG as text: numbers, texts and shapes, and the painter of all that was arranged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.arrangement import Arrangement, Connector, rounded
from torcheer.graph.drawing.boxes import (
    CHIP_GAP,
    CHIP_HEIGHT,
    CHIP_SIZE,
    HEADER_HEIGHT,
    LINE_HEIGHT,
    PADDING_X,
    PADDING_Y,
    STACK,
    TEXT_SIZE,
    TITLE_GAP,
    Chip,
    Face,
    Text,
    group_tooltip,
    tooltip_of,
)
from torcheer.graph.drawing.colours import Colouring, Palette, ink_on
from torcheer.graph.drawing.diagram import Edge, Group, Node
from torcheer.graph.drawing.edges import ranges
from torcheer.graph.drawing.text_width import BOLD, FONT_STACK, is_measured, printable
from torcheer.graph.layout.model import Point, Rect, Route

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
    pieces: list[tuple[str, Sequence[Point]]] = [("M", [route.start])]
    pieces += [("L" if len(piece) == 1 else "C", piece) for piece in route.pieces]
    return path_of(pieces, dx, dy)


def path_of(pieces: Iterable[tuple[str, Sequence[Point]]], dx: float = 0.0, dy: float = 0.0) -> str:
    """Letters of the path language, each with its points."""
    return "".join(
        letter + " ".join(f"{number(x + dx)} {number(y + dy)}" for x, y in points)
        for letter, points in pieces
    )


def arrow_head(tip: tuple[float, float], towards: tuple[float, float]) -> str:
    """A triangle with its tip at a point; `towards` is the direction, along one of the axes."""
    (x, y), (dx, dy) = tip, towards
    back_x, back_y = x - _ARROW_LENGTH * dx, y - _ARROW_LENGTH * dy
    side_x, side_y = _ARROW_HALF_WIDTH * dy, _ARROW_HALF_WIDTH * dx
    return (
        f"M{number(x)} {number(y)}L{number(back_x + side_x)} {number(back_y + side_y)}"
        f"L{number(back_x - side_x)} {number(back_y - side_y)}Z"
    )


def axis_direction(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
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


_BASELINE = 11.5  # of a line, below its top
_GRADIENT_BESIDE = 6.0
_TAG_GAP = 10.0


@dataclass(slots=True, kw_only=True)
class Painter:
    """Writes the SVG of an arrangement, moved to its place below the title."""

    document: PassDocument
    palette: Palette
    colouring: Colouring
    arrangement: Arrangement
    connectors: Sequence[Connector]
    dx: float
    dy: float

    def paint(self) -> Iterator[str]:
        whole = self.arrangement
        for group, depth in whole.groups:
            yield self._group(group, depth)
        wires = [(edge, route.moved(self.dx, self.dy)) for edge, route in whole.wires]
        yield from self._connectors()
        yield from self._wires(wires)
        for node in whole.nodes:
            yield from self._node(node)
        for edge, route in wires:
            if route.label is not None:
                yield self._label(edge, route.label)

    # --- groups ----------------------------------------------------------------------------------

    def _group(self, group: Group, depth: int) -> str:
        header = self.arrangement.headers[id(group)]
        place = self._place(group)
        fills = self.palette.group_fills
        is_stretch = not group.scopes
        frame = rect(
            place,
            fills[depth % len(fills)],
            self.palette.group_stroke,
            dashes="6 4" if header.is_function else ("2 3" if is_stretch else ""),
        )
        y = place.y + HEADER_HEIGHT / 2 + 4.0
        x = place.x + PADDING_X
        texts = ""
        for line in header.texts:
            texts += text(line, x, y, self._ink(line), line.width + TITLE_GAP / 2)
            x += line.width + TITLE_GAP
        kind = "function" if header.is_function else ("stretch" if is_stretch else "module")
        scopes = ranges(sorted(set(group.repeated or group.scopes)), "-", " ")
        data = attributes(class_="group", data_key=str(group.key), data_kind=kind, data_scope=scopes)
        if group.num_repeats > 1:
            data += attributes(data_repeats=str(group.num_repeats))
        return f"<g{data}>{title(group_tooltip(self.document, group))}{frame}{texts}</g>"

    # --- boxes -----------------------------------------------------------------------------------

    def _node(self, node: Node) -> Iterator[str]:
        face = self.arrangement.faces[id(node)]
        look = self.palette.looks[face.kind]
        place = self._place(node)
        own_fill = self.colouring.fills.get(id(node))
        fill = own_fill or look.fill
        ops = ranges(sorted(node.stands_for or node.ops), "-", " ")
        scopes = ranges(sorted(set(node.scopes or node.calls)), "-", " ")
        data = attributes(
            class_="node", data_key=str(node.key), data_kind=face.kind, data_op=ops, data_scope=scopes
        )
        if node.num_repeats > 1:
            data += attributes(data_repeats=str(node.num_repeats))
        yield f"<g{data}>{title(tooltip_of(self.document, node))}"
        if node.is_collapsed:
            front = Rect(place.x, place.y, place.width - STACK, place.height - STACK)
            yield rect(front._replace(x=place.x + STACK, y=place.y + STACK), fill, look.stroke)
            place = front
        yield rect(place, fill, look.stroke, dashes=look.dashes)
        yield from self._texts(face, place, ink_on(own_fill, self.palette) if own_fill else "")
        yield "</g>"

    def _texts(self, face: Face, place: Rect, one_ink: str) -> Iterator[str]:
        y = place.y + PADDING_Y
        for row in face.chips_in:
            x = place.x + PADDING_X
            for chip in row:
                yield self._chip(chip, x, y)
                x += chip.width + CHIP_GAP
            y += CHIP_HEIGHT + CHIP_GAP
        x, right = place.x + PADDING_X, place.x + place.width - PADDING_X
        tags = sum(tag.width + _TAG_GAP for tag in face.tags)
        for i, line in enumerate(face.lines):
            end = right - tags if i == 0 else right + PADDING_X - 2.0
            yield text(line, x, y + _BASELINE, one_ink or self._ink(line), end - x)
            for tag in reversed(face.tags) if i == 0 else ():
                yield text(tag, right - tag.width, y + _BASELINE, one_ink or self._ink(tag), tag.width)
                right -= tag.width + _TAG_GAP
            if i == 0:
                right = place.x + place.width - PADDING_X
            y += LINE_HEIGHT
        if face.chip_out is not None:
            yield self._chip(face.chip_out, place.x + PADDING_X, y + CHIP_GAP)

    def _chip(self, chip: Chip, x: float, y: float) -> str:
        place = Rect(x, y, chip.width, CHIP_HEIGHT)
        words = Text(words=chip.words, ink="chip_text", size=CHIP_SIZE)
        sources = " ".join(str(edge.source.key) for edge in chip.edges)
        kind = "chip" if chip.edges else "readers"
        shape = rect(place, self.palette.chip_fill, "none", radius=CHIP_HEIGHT / 2)
        letters = text(words, x + 5.0, y + CHIP_HEIGHT - 4.0, self.palette.chip_text, chip.width - 5.0)
        data = attributes(class_=kind, **({"data_from": sources} if sources else {}))
        return f"<g{data}>{title(chip.tooltip)}{shape}{letters}</g>"

    def _ink(self, line: Text) -> str:
        ink: str = getattr(self.palette, line.ink)
        return ink

    def _place(self, part: Node | Group) -> Rect:
        return self.arrangement.rects[id(part)].moved(self.dx, self.dy)

    # --- wires -----------------------------------------------------------------------------------

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

    def _connectors(self) -> Iterator[str]:
        lines = []
        for connector in self.connectors:
            points = [(x + self.dx, y + self.dy) for x, y in connector.points]
            head = arrow_head(points[-1], axis_direction(points[-2], points[-1]))
            lines.append(
                _Stroke(connector.edge.source, connector.edge.target, path_of(rounded(points)), head)
            )
        yield from _strokes("connector", self.palette.wire, lines, stroke_dasharray="1.5 3.5")

    def _label(self, edge: Edge, place: Rect) -> str:
        colour = self.palette.condition if edge.kind == "condition" else self.palette.text_3
        words = Text(words=edge.text, size=TEXT_SIZE)
        letters = text(words, place.x + 2.0, place.y + place.height - 3.0, colour, place.width - 2.0)
        data = attributes(class_="label", data_from=str(edge.source.key), data_to=str(edge.target.key))
        return f"<g{data}>{letters}</g>"


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
