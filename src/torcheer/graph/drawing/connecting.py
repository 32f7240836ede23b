"""Lead the eye from the end of one column to the beginning of the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torcheer.graph.drawing.arranging import COLUMN_GAP, Arrangement
from torcheer.graph.drawing.diagram import Edge, Node
from torcheer.graph.layout.boxes import Point, Rect

_AROUND = 13.0  # how far below and above the columns it runs
_CORNER = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A line from a box at the end of a column to one at the beginning of the next."""

    edge: Edge
    points: tuple[Point, ...]  # corners, each joined to the next along one axis


def connectors(arrangement: Arrangement, edges: Sequence[Edge], direction: str) -> Iterator[Connector]:
    """At most one from each column to the next, where nothing stands in its way."""
    turned = _Turned(arrangement, direction)
    ways: dict[int, list[Edge]] = {}
    column_of = arrangement.column_of
    for edge in edges:
        if edge.is_cut and not edge.is_far and edge.kind == "data":
            column = column_of[id(edge.source)]
            if column_of[id(edge.target)] == column + 1:
                ways.setdefault(column, []).append(edge)
    for column in sorted(ways):
        # The main line ends furthest down, and goes on furthest up.
        ordered = sorted(ways[column], key=lambda e: (-turned.end(e.source), turned.start(e.target)))
        for edge in ordered:
            points = turned.way(edge, column)
            if points:
                yield Connector(edge=edge, points=tuple(map(turned.back, points)))
                break


class _Turned:
    """The arrangement as if it ran from top to bottom: along the flow first, across it second."""

    def __init__(self, arrangement: Arrangement, direction: str) -> None:
        self._direction = direction
        self._rects = {id(node): self._turn(arrangement.rects[id(node)]) for node in arrangement.nodes}
        self._columns = [self._turn(column) for column in arrangement.columns]
        self._members: list[list[Rect]] = [[] for _ in self._columns]
        for node in arrangement.nodes:
            self._members[arrangement.column_of[id(node)]].append(self._rects[id(node)])

    def end(self, node: Node) -> float:
        return self._rects[id(node)].y + self._rects[id(node)].height

    def start(self, node: Node) -> float:
        return self._rects[id(node)].y

    def way(self, edge: Edge, column: int) -> list[Point]:
        """Down, into the gap, up, and down again; nothing where a box is in the way."""
        source, target = self._rects[id(edge.source)], self._rects[id(edge.target)]
        here, there = self._columns[column], self._columns[column + 1]
        bottom, top = here.y + here.height + _AROUND, there.y - _AROUND
        out, into = source.x + source.width / 2, target.x + target.width / 2
        if not self._is_free(column, out, self.end(edge.source), bottom):
            return []
        if not self._is_free(column + 1, into, top, target.y):
            return []
        gap = there.x - COLUMN_GAP / 2
        return [
            (out, self.end(edge.source)),
            (out, bottom),
            (gap, bottom),
            (gap, top),
            (into, top),
            (into, target.y),
        ]

    def _is_free(self, column: int, x: float, start: float, end: float) -> bool:
        return not any(
            box.x - 4.0 < x < box.x + box.width + 4.0
            and box.y < end - 0.5
            and start + 0.5 < box.y + box.height
            for box in self._members[column]
        )

    def _turn(self, place: Rect) -> Rect:
        x, y, width, height = place
        if self._direction == "leftright":
            return Rect(y, x, height, width)
        return Rect(x, -y - height, width, height) if self._direction == "bottomup" else place

    def back(self, point: Point) -> Point:
        x, y = point
        if self._direction == "leftright":
            return y, x
        return (x, -y) if self._direction == "bottomup" else (x, y)


def rounded(points: Sequence[Point]) -> list[tuple[str, list[Point]]]:
    """The pieces of a path with round corners: a letter and its points."""
    pieces: list[tuple[str, list[Point]]] = [("M", [points[0]])]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        pieces.append(("L", [_near(corner, before)]))
        pieces.append(("Q", [corner, _near(corner, after)]))
    pieces.append(("L", [points[-1]]))
    return pieces


def _near(corner: Point, other: Point) -> Point:
    """A little before a corner, or halfway where the other end is nearer than that."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = abs(dx) + abs(dy)
    share = min(_CORNER, length / 2) / length if length else 0.0
    return corner[0] + share * dx, corner[1] + share * dy
