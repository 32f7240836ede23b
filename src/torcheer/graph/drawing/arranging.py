"""Lay a diagram out: sizes go to the layout, places and routes come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torcheer.graph.drawing.diagram import Diagram, Edge, Group, Node, Part
from torcheer.graph.drawing.faces import HEADER_HEIGHT, PADDING_X, TEXT_SIZE, Face, FaceMaker, Header
from torcheer.graph.drawing.lettering import text_width
from torcheer.graph.layout.boxes import Box, Rect, Route, Wire
from torcheer.graph.layout.engine import lay_out

COLUMN_GAP = 56.0
_LABEL_HEIGHT = 14.0
_CONDITION_WEIGHT = 0.2
_UNSEEN_WEIGHT = 0.05


@dataclass(slots=True, kw_only=True)
class Arrangement:
    """Where everything stands; boxes by the id of their node or group."""

    faces: dict[int, Face] = field(default_factory=dict)
    headers: dict[int, Header] = field(default_factory=dict)
    rects: dict[int, Rect] = field(default_factory=dict)
    groups: list[tuple[Group, int]] = field(default_factory=list)  # with their depth, outer ones first
    nodes: list[Node] = field(default_factory=list)
    wires: list[tuple[Edge, Route]] = field(default_factory=list)
    columns: list[Rect] = field(default_factory=list)
    column_of: dict[int, int] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


class Arranger:
    """Lays out column after column and puts them side by side; where the flow is to the right, below."""

    def __init__(self, diagram: Diagram, faces: FaceMaker, direction: str) -> None:
        self._diagram = diagram
        self._maker = faces
        self._direction = direction
        self._next_key = 0
        self.arrangement = Arrangement()

    def arrange(self, only: int | None = None) -> Arrangement:
        """All of it, or only one column, as a trial."""
        columns = self._diagram.columns or [self._diagram.root]
        column_of = {id(leaf): number for number, column in enumerate(columns) for leaf in column.leaves()}
        self.arrangement.column_of = column_of
        by_column: list[list[Edge]] = [[] for _ in columns]
        for edge in self._diagram.edges:
            if not edge.is_chip:
                by_column[column_of[id(edge.source)]].append(edge)
        for number, column in enumerate(columns):
            if only in (None, number):
                self._lay_out(column, by_column[number])
        return self.arrangement

    def _lay_out(self, column: Group, edges: list[Edge]) -> None:
        self._next_key += 1
        column.key = self._next_key
        boxes = tuple(self._box(part, 0) for part in column.children)
        root = Box(key=column.key, width=0.0, height=0.0, children=boxes, padding=0.0)
        wires = [*map(_wire, edges), *self._below_the_rest(column, edges)]
        placed = lay_out(root, wires, direction=self._direction)
        whole = self.arrangement
        below = self._direction == "leftright"
        gap = COLUMN_GAP if whole.width else 0.0
        dx, dy = (0.0, whole.height + gap) if below else (whole.width + gap, 0.0)
        stack: list[Part] = list(column.children)
        while stack:
            part = stack.pop()
            place = placed.rects[part.key]
            whole.rects[id(part)] = Rect(place.x + dx, place.y + dy, place.width, place.height)
            if isinstance(part, Group):
                stack.extend(part.children)
        whole.wires.extend(
            (edge, moved(route, dx, dy)) for edge, route in zip(edges, placed.routes, strict=False)
        )
        whole.columns.append(Rect(dx, dy, placed.width, placed.height))
        whole.width = max(whole.width, dx + placed.width)
        whole.height = max(whole.height, dy + placed.height)

    def _below_the_rest(self, column: Group, edges: Sequence[Edge]) -> list[Wire]:
        """Wires that are not painted: they keep outputs without any at the end of their column."""
        faces = self.arrangement.faces
        wired = {id(edge.target) for edge in edges}
        leaves = list(column.leaves())
        outputs = [leaf for leaf in leaves if faces[id(leaf)].kind == "output"]
        others = [leaf for leaf in leaves if faces[id(leaf)].kind != "output"]
        if not others:
            return []
        last = max(others, key=lambda leaf: leaf.order)
        lonely = [leaf for leaf in outputs if id(leaf) not in wired]
        return [Wire(source=last.key, target=leaf.key, weight=_UNSEEN_WEIGHT) for leaf in lonely]

    def _box(self, part: Part, depth: int) -> Box:
        self._next_key += 1
        part.key = self._next_key
        whole = self.arrangement
        if isinstance(part, Node):
            face = whole.faces[id(part)] = self._maker.face(part)
            whole.nodes.append(part)
            return Box(key=part.key, width=face.width, height=face.height)
        header = whole.headers[id(part)] = self._maker.header(part)
        whole.groups.append((part, depth))
        title_width = header.width + 2 * PADDING_X
        return Box(
            key=part.key,
            width=title_width,
            height=HEADER_HEIGHT,
            children=tuple(self._box(child, depth + 1) for child in part.children),
            header=HEADER_HEIGHT,
            title_width=title_width,
        )


def _wire(edge: Edge) -> Wire:
    words = edge.text
    return Wire(
        source=edge.source.key,
        target=edge.target.key,
        label=(text_width(words, TEXT_SIZE) + 4.0, _LABEL_HEIGHT) if words else None,
        weight=_CONDITION_WEIGHT if edge.kind == "condition" else 1.0,
        is_back=edge.is_back,
    )


def moved(route: Route, dx: float, dy: float) -> Route:
    if not dx and not dy:
        return route
    return Route(
        start=(route.start[0] + dx, route.start[1] + dy),
        pieces=tuple(tuple((x + dx, y + dy) for x, y in piece) for piece in route.pieces),  # type: ignore[misc]
        label=None
        if route.label is None
        else route.label._replace(x=route.label.x + dx, y=route.label.y + dy),
        is_back=route.is_back,
    )
