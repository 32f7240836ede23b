"""Lay out a picture: nested groups from the inside out, then the route of each wire across their borders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import sqrt
from typing import NamedTuple

from torcheer.graph.layout.coordinates import (
    align,
    attach,
    lane_label_top,
    place_columns,
    place_heights,
    place_lanes,
)
from torcheer.graph.layout.rows import (
    SPACING,
    Component,
    Kind,
    Link,
    Size,
    Turn,
    Vertex,
    add_bends,
    assign_ranks,
    connected_pieces,
    order_rows,
)

Point = tuple[float, float]
# One point: a straight line to it. Three: a cubic curve, as two control points and the end.
Piece = tuple[Point] | tuple[Point, Point, Point]


class Rect(NamedTuple):
    """A place in the picture; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, dx: float, dy: float) -> Rect:
        return Rect(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Something to place: a node, or a group with children."""

    key: int  # unique in the picture, and its order: boxes with smaller keys ran earlier
    # Of a node its size; of a group the least it may have, so that its header fits.
    width: float
    height: float
    children: tuple[Box, ...] = ()
    # Height kept free for a title at the top of a group, whatever the direction.
    header: float = 0.0
    padding: float = 12.0
    # How far the title reaches from the group's left side: wires do not run through it.
    title_width: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """An edge between two boxes without children."""

    source: int
    target: int
    # Width and height of a text that stands beside the wire, near its target.
    label: Size | None = None
    weight: float = 1.0  # how much it wants to be short and straight
    is_back: bool = False  # against the flow on purpose, as the feedback of a loop is


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The way of one wire.

    It begins at `start` on the source's side and runs through `pieces`, each beginning where the one
    before ended. A piece of one point is a straight line along the flow. A piece of three points is a
    cubic curve (two control points, end point) that begins and ends along the flow: an S where the wire
    moves sideways, a U where it turns around. The last piece is always straight, long enough for an
    arrow head, and ends on the target's side. Only the loop of a box to itself leaves and arrives across
    the flow, at the side of the box.
    """

    start: Point
    pieces: tuple[Piece, ...]
    label: Rect | None = None
    is_back: bool = False  # whether the wire is drawn against the flow

    @property
    def end(self) -> Point:
        return self.pieces[-1][-1]

    def mapped(self, point: Callable[[Point], Point], rect: Callable[[Rect], Rect]) -> Route:
        """The same route, moved or turned."""
        return Route(
            start=point(self.start),
            pieces=tuple(tuple(map(point, piece)) for piece in self.pieces),  # type: ignore[misc]
            label=self.label and rect(self.label),
            is_back=self.is_back,
        )

    def moved(self, dx: float, dy: float) -> Route:
        if not dx and not dy:
            return self
        return self.mapped(lambda at: (at[0] + dx, at[1] + dy), lambda rect: rect.moved(dx, dy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where everything goes, in absolute coordinates from (0, 0) at the top left."""

    rects: dict[int, Rect]  # every box by key, groups and the root included
    # One for each wire, in the order of the wires.
    routes: list[Route]
    width: float
    height: float


def lay_out(root: Box, wires: Sequence[Wire], *, direction: str = "topdown") -> Placement:
    """Where every box of `root` goes and how every wire runs.

    `direction` is where the flow goes: 'topdown', 'bottomup' or 'leftright'. The same boxes and wires
    always give the same picture.
    """
    return _Layout(root, wires, direction).placement()


@dataclass(slots=True, eq=False)
class _Nest:
    """A box with what is inside it, and as a vertex among its siblings."""

    box: Box
    parent: _Nest | None
    depth: int
    vertex: Vertex
    children: list[_Nest] = field(default_factory=list)
    # Where nets enter and leave it, and the links inside it by net and target.
    in_ports: dict[int, Vertex] = field(default_factory=dict)
    out_ports: dict[int, Vertex] = field(default_factory=dict)
    links: dict[tuple[int, Vertex], Link] = field(default_factory=dict)
    runs: dict[Link, _Run] = field(default_factory=dict)
    loops: list[int] = field(default_factory=list)  # wires from a box to itself
    width: float = 0.0
    height: float = 0.0
    corner: Point = (0.0, 0.0)

    def port(self, ports: dict[int, Vertex], net: int, order: int) -> Vertex:
        """The port of a net, among those of entry or exit."""
        if net not in ports:
            kind = Kind.IN_PORT if ports is self.in_ports else Kind.OUT_PORT
            ports[net] = Vertex(kind, order=order)
        return ports[net]

    def add(self, net: int, source: Vertex, target: Vertex, wire: Wire, *, is_back: bool = False) -> Link:
        """A link, or the one that its net already has to that target."""
        link = self.links.get((net, target))
        if link is None:
            link = self.links[net, target] = Link(net, source, target, wire.weight, is_back=is_back)
        link.weight = max(link.weight, wire.weight)
        link.is_back = link.is_back and is_back
        return link


# A wire's links in order from source to target, each with its group.
_Way = list[tuple[_Nest, Link]]


class _Layout:
    """One picture on its way, as if the flow went down; it is turned at the end."""

    def __init__(self, root: Box, wires: Sequence[Wire], direction: str) -> None:
        self.is_sideways = direction == "leftright"
        self.is_upwards = direction == "bottomup"
        self.nests: list[_Nest] = []  # a box's children come after it
        self._grow(root, None)
        for nest in reversed(self.nests):
            # A group runs when the first of its nodes runs.
            if nest.children:
                nest.vertex.order = min(child.vertex.order for child in nest.children)
        self.labels = [wire.label and self._size(*wire.label) for wire in wires]
        self.ways = self._cut(wires)
        for nest in reversed(self.nests):
            if nest.children:
                self._lay_out_group(nest)
            else:
                self._measure(nest)

    def _grow(self, box: Box, parent: _Nest | None) -> None:
        vertex = Vertex(Kind.GROUP if box.children else Kind.NODE, order=box.key)
        nest = _Nest(box, parent, parent.depth + 1 if parent else 0, vertex)
        self.nests.append(nest)
        if parent:
            parent.children.append(nest)
        for child in box.children:
            self._grow(child, nest)

    def _size(self, width: float, height: float) -> Size:
        return (height, width) if self.is_sideways else (width, height)

    def _cut(self, wires: Sequence[Wire]) -> list[_Way]:
        """Divide the wires at the borders that they cross; a label stays with the last link.

        The way of a wire from a box to itself is empty.
        """
        nest_of = {nest.box.key: nest for nest in self.nests}
        nets: dict[tuple[_Nest, int], int] = {}
        twins: dict[tuple[_Nest, _Nest], int] = {}
        ways: list[_Way] = []
        for number, wire in enumerate(wires):
            source, target = nest_of[wire.source], nest_of[wire.target]
            twin = twins.get((source, target), 0)
            twins[source, target] = twin + 1
            net = nets.setdefault((source, twin), len(nets))
            way: _Way = []
            if source is target:
                source.loops.append(number)
            else:
                way = _cut_one(wire, source, target, net)
                way[-1][1].label = self.labels[number] or way[-1][1].label
            ways.append(way)
        return ways

    def _measure(self, nest: _Nest) -> None:
        nest.width, nest.height = self._size(nest.box.width, nest.box.height)
        margin, least = _loop_room([self.labels[one] for one in nest.loops])
        vertex = nest.vertex
        vertex.left, vertex.right = nest.width / 2, nest.width / 2 + margin
        vertex.height, vertex.body = max(nest.height, least), nest.height

    def _lay_out_group(self, nest: _Nest) -> None:
        """Place the children of a group and route its links."""
        box = nest.box
        least_width, least_height = self._size(box.width, box.height)
        header_above = 0.0 if self.is_sideways or self.is_upwards else box.header
        margin = (box.header if self.is_sideways else 0.0) + box.padding
        for child in nest.children:
            _meet_ports(nest, child)
        components = _components(nest)
        for component in components:
            assign_ranks(component)
            add_bends(component)
            order_rows(component)
            place_columns(component, align(component))
            place_lanes(component)
            attach(component)
            place_heights(component, box_top=header_above + box.padding, wire_top=header_above)
        width, bottom = _pack(components, header_above + box.padding)
        left = margin + max(0.0, (least_width - margin - width - box.padding) / 2)
        x_of = {vertex: one.x + vertex.x for one in components for vertex in one.vertices}
        ports = nest.out_ports if self.is_upwards else nest.in_ports
        if ports and box.title_width and not self.is_sideways:  # wires do not run through the title
            first = min(x_of[vertex] for vertex in ports.values())
            left = max(left, box.title_width + SPACING.wire_to_label - first)
        nest.width = max(left + width + box.padding, least_width)
        header_below = box.header if self.is_upwards else 0.0
        nest.height = max(bottom + (header_below + box.padding), least_height)
        for component in components:
            component.x += left
            for link in component.links:
                nest.runs[link] = _make_run(component, link, nest.height)
            for vertex in component.vertices:
                vertex.x += component.x
                vertex.top += component.y
        half = nest.width / 2
        vertex = nest.vertex
        vertex.left, vertex.right, vertex.height, vertex.body = half, half, nest.height, nest.height

    def placement(self) -> Placement:
        """All places, with the picture turned as it was asked for."""
        rects: dict[int, Rect] = {}
        looping: dict[int, Route] = {}
        for nest in self.nests:
            if nest.parent:
                (x, y), vertex = nest.parent.corner, nest.vertex
                nest.corner = x + vertex.x - vertex.left, y + vertex.top
            rect = rects[nest.box.key] = Rect(*nest.corner, nest.width, nest.height)
            labels = [self.labels[one] for one in nest.loops]
            looping.update(zip(nest.loops, _draw_loops(rect, labels), strict=True))
        routes = [
            _join((group.corner, group.runs[link]) for group, link in way) if way else looping[number]
            for number, way in enumerate(self.ways)
        ]
        root = self.nests[0]
        # Only a picture of a single box can have loops beside its outermost box.
        width, height = root.width + root.vertex.right - root.vertex.left, root.height

        def turn_point(point: Point) -> Point:
            return (point[1], point[0]) if self.is_sideways else (point[0], height - point[1])

        def turn_rect(rect: Rect) -> Rect:
            if self.is_sideways:
                return Rect(rect.y, rect.x, rect.height, rect.width)
            return rect._replace(y=height - rect.y - rect.height)

        if self.is_sideways or self.is_upwards:
            rects = {key: turn_rect(rect) for key, rect in rects.items()}
            routes = [route.mapped(turn_point, turn_rect) for route in routes]
        width, height_now = self._size(width, height)
        return Placement(rects=rects, routes=routes, width=width, height=height_now)


def _cut_one(wire: Wire, source: _Nest, target: _Nest, net: int) -> _Way:
    leaving: _Way = []
    entering: _Way = []
    order = source.vertex.order
    while source.parent is not target.parent:
        if source.depth >= target.depth:
            group = source.parent
            assert group is not None
            port = group.port(group.out_ports, net, order)
            leaving.append((group, group.add(net, source.vertex, port, wire)))
            source = group
        else:
            group = target.parent
            assert group is not None
            port = group.port(group.in_ports, net, order)
            entering.append((group, group.add(net, port, target.vertex, wire)))
            target = group
    group = source.parent
    assert group is not None
    across = group.add(net, source.vertex, target.vertex, wire, is_back=wire.is_back)
    return [*leaving, (group, across), *reversed(entering)]


def _meet_ports(nest: _Nest, child: _Nest) -> None:
    """Where links meet a child that is a group, from its middle."""
    half = child.width / 2
    for link in nest.links.values() if child.children else ():
        if link.source is child.vertex:
            link.source_shift = child.out_ports[link.net].x - half
        if link.target is child.vertex:
            link.target_shift = child.in_ports[link.net].x - half


def _components(nest: _Nest) -> list[Component]:
    """What links connect, in the order of the first vertices."""
    vertices = [child.vertex for child in nest.children]
    vertices += [*nest.in_ports.values(), *nest.out_ports.values()]
    number = {vertex: i for i, vertex in enumerate(vertices)}
    ends = ((number[link.source], number[link.target]) for link in nest.links.values())
    piece_of = connected_pieces(len(vertices), ends)
    found: dict[int, Component] = {}
    for vertex, piece in zip(vertices, piece_of, strict=True):
        found.setdefault(piece, Component([], [])).vertices.append(vertex)
    for link in nest.links.values():
        found[piece_of[number[link.source]]].links.append(link)
    return list(found.values())


def _pack(components: list[Component], top: float) -> tuple[float, float]:
    """Put components side by side: those with ports in one row, then large ones, then small ones."""
    tallest = max(one.bottom for one in components) - top
    with_ports: list[Component] = []
    large: list[Component] = []
    small: list[Component] = []
    for one in components:
        if any(not vertex.is_box for vertex in one.vertices if vertex.kind <= Kind.OUT_PORT):
            with_ports.append(one)
        else:
            (large if one.bottom - top > tallest / 2 else small).append(one)
    x, bottom = 0.0, 0.0
    for one in with_ports:
        one.x = x
        x += one.width + SPACING.between_parts
        bottom = max(bottom, one.bottom)
    for shelf in (large, small):
        x, bottom = _shelve(shelf, x, bottom, top)
    return x - SPACING.between_parts, bottom


def _shelve(components: list[Component], left: float, bottom: float, top: float) -> tuple[float, float]:
    """Put components in rows that together are about as wide as high."""
    gap = SPACING.between_parts
    area = sum((one.width + gap) * (one.bottom - top + gap) for one in components)
    most = max([sqrt(area * 1.6), *(one.width for one in components)])
    x = y = row_height = right = 0.0
    for one in components:
        if x and x + one.width > most:
            x, y, row_height = 0.0, y + row_height + gap, 0.0
        one.x, one.y = left + x, y
        x += one.width + gap
        right = max(right, x)
        row_height = max(row_height, one.bottom - top)
        bottom = max(bottom, y + one.bottom)
    return left + right, bottom


Curve = tuple[Point, Point, Point, Point]  # its start, two control points, its end


@dataclass(slots=True)
class _Run:
    """The way of a link inside its group, relative to the group's corner."""

    points: list[Point]  # its start, the four points of each curve, its end
    label: Rect | None
    goes_up: bool

    def moved(self, dx: float, dy: float) -> _Run:
        points = [(x + dx, y + dy) for x, y in self.points]
        return _Run(points, self.label and self.label.moved(dx, dy), self.goes_up)


def _make_run(component: Component, link: Link, height: float) -> _Run:
    """The run of a link in a group of this height, where ports of exit lie."""
    if link.turns:
        curves = [*map(_u_curve, link.turns)]
    else:
        curves = [
            _s_curve(segment.start_x, segment.end_x, *segment.zone) for segment in link.path if segment.zone
        ]
    start_x = curves[0][0][0] if curves else link.path[0].start_x
    end_x = curves[-1][-1][0] if curves else start_x
    bottom = height - component.y if link.target.kind is Kind.OUT_PORT else link.target.top
    start, end = (start_x, link.source.top + link.source.body), (end_x, bottom)
    points = [start, *chain.from_iterable(curves), end]
    return _Run(points, _label(component, link), link.goes_up).moved(component.x, component.y)


def _s_curve(start_x: float, end_x: float, top: float, bottom: float) -> Curve:
    middle = (top + bottom) / 2
    return (start_x, top), (start_x, middle), (end_x, middle), (end_x, bottom)


def _u_curve(turn: Turn) -> Curve:
    """Away from a vertex where the wire turns below it, towards it where it turns above."""
    # A cubic reaches three quarters of the way to its control points.
    reach = (turn.bottom - turn.top) * 4 / 3
    if turn.is_below:
        start_x, end_x, y, far = turn.x, turn.column, turn.top, turn.top + reach
    else:
        start_x, end_x, y, far = turn.column, turn.x, turn.bottom, turn.bottom - reach
    return (start_x, y), (start_x, far), (end_x, far), (end_x, y)


def _label(component: Component, link: Link) -> Rect | None:
    if link.label is None:
        return None
    if link.turns:
        x, y = link.turns[1].column, lane_label_top(component, link.turns[1], link.label[1])
    else:
        assert link.label_vertex is not None
        x, y = link.label_vertex.x, link.label_vertex.top
    return Rect(x + SPACING.wire_to_label, y, *link.label)


_NOTHING = 1e-6  # straight lines shorter than this are left out


def _join(runs: Iterable[tuple[Point, _Run]]) -> Route:
    """One route through the runs, each with the corner of its group."""
    moved = [run.moved(*corner) for corner, run in runs]
    start = here = moved[0].points[0]
    pieces: list[Piece] = []
    for run in moved:
        _, *curves, end = run.points
        for i in range(0, len(curves), 4):
            _line(pieces, here, curves[i])
            pieces.append((curves[i + 1], curves[i + 2], curves[i + 3]))
            here = curves[i + 3]
        if _line(pieces, here, end):
            here = end
    label = next((run.label for run in reversed(moved) if run.label), None)
    return Route(start=start, pieces=tuple(pieces), label=label, is_back=any(run.goes_up for run in moved))


def _line(pieces: list[Piece], start: Point, end: Point) -> bool:
    """Add a straight line, or lengthen the one before."""
    if abs(end[1] - start[1]) < _NOTHING:
        return False
    if pieces and len(pieces[-1]) == 1:
        pieces.pop()
    pieces.append((end,))
    return True


def _loop_room(labels: Sequence[Size | None]) -> tuple[float, float]:
    """Width and least height that loops with these labels need beside a box."""
    if not labels:
        return 0.0, 0.0
    texts = [label for label in labels if label]
    width = _reach(len(labels) - 1) + sum(label[0] + SPACING.wire_to_label for label in texts)
    return width, max((label[1] for label in texts), default=0.0)


def _reach(number: int) -> float:
    """How far from the box the loop with this number bulges."""
    return SPACING.loop + number * SPACING.loop / 3


def _draw_loops(rect: Rect, labels: Sequence[Size | None]) -> list[Route]:
    """A route for each wire from a box to itself: one around the other at its right side, then the texts."""
    routes = []
    side, middle = rect.x + rect.width, rect.y + rect.height / 2
    text_x = side + _reach(len(labels) - 1)
    for number, label in enumerate(labels):
        apart = rect.height * (0.12 + 0.3 * (number + 1) / (len(labels) + 1))
        # A cubic with both control points on one side comes three quarters of the way to them.
        far = side + _reach(number) * 4 / 3
        arrow = side + SPACING.loop / 2
        pieces: tuple[Piece, ...] = (
            ((far, middle + apart), (far, middle - apart), (arrow, middle - apart)),
            ((side, middle - apart),),
        )
        place = None
        if label:
            text_x += SPACING.wire_to_label
            place = Rect(text_x, max(rect.y, middle - label[1] / 2), *label)
            text_x += label[0]
        routes.append(Route(start=(side, middle + apart), pieces=pieces, label=place, is_back=True))
    return routes
