"""Lay a diagram out: in columns where it is long, sizes to the layout, places and routes back."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torcheer.graph.drawing.boxes import HEADER_HEIGHT, PADDING_X, TEXT_SIZE, Face, FaceMaker, Header
from torcheer.graph.drawing.diagram import Diagram, Edge, Group, Node, Part
from torcheer.graph.drawing.text_width import text_width
from torcheer.graph.layout.layout_engine import lay_out
from torcheer.graph.layout.model import Box, Point, Rect, Route, Wire

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
            whole.rects[id(part)] = placed.rects[part.key].moved(dx, dy)
            if isinstance(part, Group):
                stack.extend(part.children)
        whole.wires += [
            (edge, route.moved(dx, dy)) for edge, route in zip(edges, placed.routes, strict=False)
        ]
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


_LONGEST = 12_000.0  # pixels in one piece; a ResNet-18 takes 7,000
_ASPECT = 1.3  # of the whole picture, width to height, or the other way round
_GAP = 28.0
_SHORTEST, _TALLEST = 0.4, 1.6  # of a column, in shares of what was aimed at
_PLACES_A_COLUMN = 40  # that are looked at
_GROUP_COST, _SOURCE_COST, _LENGTH_COST = 2.0, 0.5, 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    """A box, the groups around it, and how far down its lower side is at least."""

    node: Node
    groups: tuple[int, ...]
    depth: float


def cut_into_columns(diagram: Diagram, faces: FaceMaker, direction: str, width: float) -> list[str]:
    """Fill `diagram.columns` where one piece would be too long; edges between columns become chips.

    `width` is how wide a column will probably be.
    """
    leaves = _leaves(diagram, faces, sideways=direction == "leftright")
    length = leaves[-1].depth if leaves else 0.0
    if length <= _LONGEST:
        return []
    num_columns = max(2, round(math.sqrt(_ASPECT * length / width)))
    cuts = _cuts(leaves, diagram.edges, length / num_columns)
    if not cuts:
        diagram.columns = []
        for edge in diagram.edges:
            edge.is_cut = False
        return []
    column_of: dict[int, int] = {}
    for place, leaf in enumerate(leaves):
        column_of[id(leaf.node)] = bisect_right(cuts, place)
    diagram.columns = [_stretch(diagram.root, column_of, number) for number in range(len(cuts) + 1)]
    for edge in diagram.edges:
        edge.is_cut = column_of[id(edge.source)] != column_of[id(edge.target)]
    word = "rows" if direction == "leftright" else "columns"
    return [f"In {len(cuts) + 1} {word}; an arrow after a name leads to another place in the picture."]


def _leaves(diagram: Diagram, faces: FaceMaker, *, sideways: bool) -> list[_Leaf]:
    """All boxes in the order in which they ran, each below what it reads."""
    above: dict[int, float] = {}
    incoming: dict[int, list[Edge]] = {}
    for edge in diagram.edges:
        if edge.kind == "data" and not edge.is_back and not edge.is_far:
            incoming.setdefault(id(edge.target), []).append(edge)
    found: list[_Leaf] = []
    lowest = 0.0
    stack: list[tuple[Part, tuple[int, ...]]] = [(diagram.root, ())]
    while stack:
        part, groups = stack.pop()
        if isinstance(part, Group):
            inside = (*groups, id(part))
            stack.extend((child, inside) for child in reversed(part.children))
            continue
        face = faces.face(part)
        # A layer whose passes lie in several modules stands in the first: its reader may come before it here.
        start = max((above.get(id(edge.source), 0.0) for edge in incoming.get(id(part), ())), default=0.0)
        opened = len(groups) - (len(found[-1].groups) if found else 0)
        start += max(opened, 0) * HEADER_HEIGHT
        above[id(part)] = start + (face.width if sideways else face.height) + _GAP
        lowest = max(lowest, above[id(part)])
        found.append(_Leaf(node=part, groups=groups, depth=lowest))
    return found


def _cuts(leaves: Sequence[_Leaf], edges: Sequence[Edge], length: float) -> list[int]:
    """The places to cut for columns of about this length, through few groups and few edges."""
    crossing = _num_crossing(leaves, edges)
    costs = [0.0] + [
        _GROUP_COST * _num_common(leaves[place - 1].groups, leaves[place].groups)
        + _SOURCE_COST * crossing[place]
        for place in range(1, len(leaves))
    ]
    places = [0, *_worth_a_look(leaves, costs, length / _PLACES_A_COLUMN), len(leaves)]
    depths = [0.0, *(leaves[place - 1].depth for place in places[1:])]
    # The cheapest way to cut everything above each place, from that of the places above.
    best = [(0.0, -1)]
    for end in range(1, len(places)):
        own = costs[places[end]] if places[end] < len(leaves) else 0.0
        ways: list[tuple[float, int]] = []
        for start in range(end - 1, -1, -1):
            share = (depths[end] - depths[start]) / length
            if share > _TALLEST and ways:
                break
            short = 10.0 if share < _SHORTEST else 1.0
            ways.append((best[start][0] + own + short * _LENGTH_COST * (share - 1.0) ** 2, start))
        best.append(min(ways))
    cuts: list[int] = []
    at = best[-1][1]
    while at > 0:
        cuts.append(places[at])
        at = best[at][1]
    return cuts[::-1]


def _worth_a_look(leaves: Sequence[_Leaf], costs: Sequence[float], step: float) -> list[int]:
    """The cheapest place of every short stretch."""
    best: dict[int, int] = {}
    for place in range(1, len(costs)):
        stretch = int(leaves[place - 1].depth / step)
        if stretch not in best or costs[place] < costs[best[stretch]]:
            best[stretch] = place
    return sorted(best.values())


def _num_common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many groups hold both."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _num_crossing(leaves: Sequence[_Leaf], edges: Sequence[Edge]) -> list[int]:
    """For each place to cut, how many boxes above it are read below it."""
    place_of = {id(leaf.node): place for place, leaf in enumerate(leaves)}
    last_reader: dict[int, int] = {}
    for edge in edges:
        if not edge.is_far:
            source = place_of[id(edge.source)]
            last_reader[source] = max(last_reader.get(source, 0), place_of[id(edge.target)])
    changes = [0] * (len(leaves) + 2)
    for source, last in last_reader.items():
        if last > source:
            changes[source + 1] += 1
            changes[last + 1] -= 1
    count = 0
    counts = []
    for change in changes:
        count += change
        counts.append(count)
    return counts


def _stretch(group: Group, column_of: dict[int, int], number: int) -> Group:
    """The part of a group that stands in one column."""
    children: list[Part] = []
    begins_before = False
    for child in group.children:
        if isinstance(child, Node):
            column = column_of[id(child)]
            if column == number:
                children.append(child)
            begins_before |= column < number
            continue
        part = _stretch(child, column_of, number)
        if part.children:
            children.append(part)
        begins_before |= part.is_continued or (not part.children and _first_column(child, column_of) < number)
    return Group(
        scopes=group.scopes,
        children=children,
        num_repeats=group.num_repeats,
        repeated=group.repeated,
        is_continued=begins_before,
    )


def _first_column(group: Group, column_of: dict[int, int]) -> int:
    return column_of[id(next(group.leaves()))]


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
