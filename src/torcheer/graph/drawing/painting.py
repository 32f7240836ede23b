"""Paint what was arranged: groups, then wires, then boxes, then the texts beside wires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing import svg
from torcheer.graph.drawing.arrangement import Arrangement, Connector, moved, rounded
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
from torcheer.graph.layout.model import Rect, Route

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
        wires = [(edge, moved(route, self.dx, self.dy)) for edge, route in whole.wires]
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
        frame = svg.rect(
            place,
            fills[depth % len(fills)],
            self.palette.group_stroke,
            dashes="6 4" if header.is_function else ("2 3" if is_stretch else ""),
        )
        y = place.y + HEADER_HEIGHT / 2 + 4.0
        x = place.x + PADDING_X
        texts = ""
        for line in header.texts:
            texts += svg.text(line, x, y, self._ink(line), line.width + TITLE_GAP / 2)
            x += line.width + TITLE_GAP
        kind = "function" if header.is_function else ("stretch" if is_stretch else "module")
        scopes = ranges(sorted(set(group.repeated or group.scopes)), "-", " ")
        data = svg.attributes(class_="group", data_key=str(group.key), data_kind=kind, data_scope=scopes)
        if group.num_repeats > 1:
            data += svg.attributes(data_repeats=str(group.num_repeats))
        return f"<g{data}>{svg.title(group_tooltip(self.document, group))}{frame}{texts}</g>"

    # --- boxes -----------------------------------------------------------------------------------

    def _node(self, node: Node) -> Iterator[str]:
        face = self.arrangement.faces[id(node)]
        look = self.palette.looks[face.kind]
        place = self._place(node)
        own_fill = self.colouring.fills.get(id(node))
        fill = own_fill or look.fill
        ops = ranges(sorted(node.stands_for or node.ops), "-", " ")
        scopes = ranges(sorted(set(node.scopes or node.calls)), "-", " ")
        data = svg.attributes(
            class_="node", data_key=str(node.key), data_kind=face.kind, data_op=ops, data_scope=scopes
        )
        if node.num_repeats > 1:
            data += svg.attributes(data_repeats=str(node.num_repeats))
        yield f"<g{data}>{svg.title(tooltip_of(self.document, node))}"
        if node.is_collapsed:
            front = Rect(place.x, place.y, place.width - STACK, place.height - STACK)
            yield svg.rect(front._replace(x=place.x + STACK, y=place.y + STACK), fill, look.stroke)
            place = front
        yield svg.rect(place, fill, look.stroke, radius=look.radius, dashes=look.dashes)
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
            yield svg.text(line, x, y + _BASELINE, one_ink or self._ink(line), end - x)
            for tag in reversed(face.tags) if i == 0 else ():
                yield svg.text(tag, right - tag.width, y + _BASELINE, one_ink or self._ink(tag), tag.width)
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
        shape = svg.rect(place, self.palette.chip_fill, "none", radius=CHIP_HEIGHT / 2)
        letters = svg.text(words, x + 5.0, y + CHIP_HEIGHT - 4.0, self.palette.chip_text, chip.width - 5.0)
        data = svg.attributes(class_=kind, **({"data_from": sources} if sources else {}))
        return f"<g{data}>{svg.title(chip.tooltip)}{shape}{letters}</g>"

    def _ink(self, line: Text) -> str:
        ink: str = getattr(self.palette, line.ink)
        return ink

    def _place(self, part: Node | Group) -> Rect:
        place = self.arrangement.rects[id(part)]
        return Rect(place.x + self.dx, place.y + self.dy, place.width, place.height)

    # --- wires -----------------------------------------------------------------------------------

    def _wires(self, wires: list[tuple[Edge, Route]]) -> Iterator[str]:
        for kind, colour, dashes in (
            ("data", self.palette.wire, ""),
            ("condition", self.palette.condition, "5 3"),
        ):
            lines = [(edge, route) for edge, route in wires if edge.kind == kind]
            if lines:
                yield from self._strokes(lines, kind, colour, dashes)
        gradients = [(edge, route) for edge, route in wires if edge.has_gradient]
        if gradients:
            yield from self._gradients(gradients)

    def _strokes(self, lines: list[tuple[Edge, Route]], kind: str, colour: str, dashes: str) -> Iterator[str]:
        dashed = {"stroke_dasharray": dashes} if dashes else {}
        yield f"<g{svg.attributes(class_='edges', fill='none', stroke=colour, stroke_width='1.2', **dashed)}>"
        heads = []
        for edge, route in lines:
            ends = f'data-from="{edge.source.key}" data-to="{edge.target.key}"'
            back = ' data-back="1"' if edge.is_back else ""
            yield f'<path class="{kind}" {ends}{back} d="{svg.line_of(route)}"/>'
            heads.append(svg.arrow_head(route.end, _last_direction(route)))
        yield "</g>"
        yield f'<path class="heads" fill="{colour}" d="{"".join(heads)}"/>'

    def _gradients(self, lines: list[tuple[Edge, Route]]) -> Iterator[str]:
        colour = self.palette.gradient
        style = svg.attributes(
            class_="edges", fill="none", stroke=colour, stroke_width="1", stroke_dasharray="3 2.5"
        )
        yield f"<g{style}>"
        heads = []
        for edge, route in lines:
            away = svg.axis_direction(route.start, next(iter(route.pieces))[0])
            # Beside the forward wire: to the left of it, or above where it runs to the right.
            dx, dy = (-_GRADIENT_BESIDE, 0.0) if away[0] == 0 else (0.0, -_GRADIENT_BESIDE)
            ends = f'data-from="{edge.target.key}" data-to="{edge.source.key}"'
            yield f'<path class="gradient" {ends} d="{svg.line_of(route, dx, dy)}"/>'
            tip = (route.start[0] + dx, route.start[1] + dy)
            heads.append(svg.arrow_head(tip, (-away[0], -away[1])))
        yield "</g>"
        yield f'<path class="heads" fill="{colour}" d="{"".join(heads)}"/>'

    def _connectors(self) -> Iterator[str]:
        if not self.connectors:
            return
        colour = self.palette.wire
        style = svg.attributes(class_="edges", fill="none", stroke=colour, stroke_dasharray="1.5 3.5")
        yield f"<g{style}>"
        heads = []
        for connector in self.connectors:
            points = [(x + self.dx, y + self.dy) for x, y in connector.points]
            ends = f'data-from="{connector.edge.source.key}" data-to="{connector.edge.target.key}"'
            yield f'<path class="connector" {ends} d="{svg.path_of(rounded(points))}"/>'
            heads.append(svg.arrow_head(points[-1], svg.axis_direction(points[-2], points[-1])))
        yield "</g>"
        yield f'<path class="heads" fill="{colour}" d="{"".join(heads)}"/>'

    def _label(self, edge: Edge, place: Rect) -> str:
        colour = self.palette.condition if edge.kind == "condition" else self.palette.text_3
        words = Text(words=edge.text, size=TEXT_SIZE)
        letters = svg.text(words, place.x + 2.0, place.y + place.height - 3.0, colour, place.width - 2.0)
        data = svg.attributes(class_="label", data_from=str(edge.source.key), data_to=str(edge.target.key))
        return f"<g{data}>{letters}</g>"


def _last_direction(route: Route) -> tuple[float, float]:
    before = route.pieces[-2][-1] if len(route.pieces) > 1 else route.start
    last = route.pieces[-1]
    return svg.axis_direction(before if len(last) == 1 else last[1], last[-1])
