"""Lay out a picture: nested groups from the inside out, wires across their borders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt

from torcheer.graph.layout.coordinates import (
    Heights,
    align,
    attach,
    place_columns,
    place_heights,
    place_lanes,
)
from torcheer.graph.layout.model import (
    SPACING,
    Box,
    Course,
    Kind,
    Part,
    Placement,
    Point,
    Rect,
    Route,
    Wire,
    connected_pieces,
)
from torcheer.graph.layout.order import order_rows
from torcheer.graph.layout.ranks import add_bends, assign_ranks
from torcheer.graph.layout.routes import Run, draw_loops, join, loop_room, make_runs, move_run


@dataclass(slots=True, kw_only=True)
class Link:
    """A wire's (or several wires') way inside one group, from a child or port to a child or port."""

    # Wires of one source share links, ports and bends; parallel wires are different nets.
    net: int
    ends: tuple[int, int]
    weight: float
    label: tuple[float, float] | None = None
    is_back: bool = False


@dataclass(slots=True)
class Inside:
    """The links inside one group. Vertices: its children in order, then its ports as they came."""

    num_children: int
    in_ports: dict[int, int] = field(default_factory=dict)
    out_ports: dict[int, int] = field(default_factory=dict)
    port_order: list[int] = field(default_factory=list)  # when the source of each port's net ran
    # From left to right, where the wires of some ports come from or go to; known after a first layout.
    port_wishes: dict[int, float] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    _link_ids: dict[tuple[int, int], int] = field(default_factory=dict)

    def port(self, ports: dict[int, int], net: int, order: int) -> int:
        """The port of a net, among those of entry or exit."""
        if net not in ports:
            ports[net] = self.num_children + len(self.port_order)
            self.port_order.append(order)
        return ports[net]

    def add(self, link: Link) -> int:
        """Add a link, or join it with the one that its net already has to that target."""
        name = link.net, link.ends[1]
        known = self._link_ids.get(name)
        if known is not None:
            same = self.links[known]
            same.weight = max(same.weight, link.weight)
            same.is_back = same.is_back and link.is_back
            return known
        self._link_ids[name] = len(self.links)
        self.links.append(link)
        return len(self.links) - 1


class Nest:
    """The tree of boxes as flat lists; a box is named by its place in preorder."""

    def __init__(self, root: Box) -> None:
        self.boxes: list[Box] = []
        self.parent: list[int] = []
        self.depth: list[int] = []
        # Which child of its parent a box is.
        self.place: list[int] = []
        self.children: list[list[int]] = []
        self.index_of: dict[int, int] = {}
        stack: list[tuple[Box, int, int]] = [(root, -1, 0)]
        while stack:
            box, parent, place = stack.pop()
            self._add(box, parent, place)
            index = len(self.boxes) - 1
            stack += [(child, index, i) for i, child in reversed(list(enumerate(box.children)))]
        # A group runs when the first of its nodes runs.
        self.order = [box.key for box in self.boxes]
        for index in range(len(self.boxes) - 1, -1, -1):
            if self.children[index]:
                self.order[index] = min(self.order[child] for child in self.children[index])

    def _add(self, box: Box, parent: int, place: int) -> None:
        index = len(self.boxes)
        self.index_of[box.key] = index
        self.boxes.append(box)
        self.parent.append(parent)
        self.place.append(place)
        self.children.append([])
        self.depth.append(self.depth[parent] + 1 if parent >= 0 else 0)
        if parent >= 0:
            self.children[parent].append(index)


# A wire's links in order from source to target, each as a group and the number of one of its links.
Way = list[tuple[int, int]]


def cut(
    nest: Nest, wires: Sequence[Wire], labels: Sequence[tuple[float, float] | None]
) -> tuple[dict[int, Inside], list[Way]]:
    """Divide the wires at the borders that they cross; a label stays with the last link.

    Returns the links by group, and the way of each wire, which is empty for one from a box to itself.
    """
    insides = {index: Inside(len(children)) for index, children in enumerate(nest.children) if children}
    nets: dict[tuple[int, int], int] = {}
    twins: dict[tuple[int, int], int] = {}
    ways: list[Way] = []
    for wire, label in zip(wires, labels, strict=True):
        source, target = nest.index_of[wire.source], nest.index_of[wire.target]
        twin = twins.get((source, target), 0)
        twins[source, target] = twin + 1
        net = nets.setdefault((source, twin), len(nets))
        if source == target:
            ways.append([])
            continue
        way = _cut_one(nest, insides, wire, source, target, net)
        if label is not None:
            group, link = way[-1]
            insides[group].links[link].label = label
        ways.append(way)
    return insides, ways


def _cut_one(nest: Nest, insides: dict[int, Inside], wire: Wire, source: int, target: int, net: int) -> Way:
    parent, depth, place = nest.parent, nest.depth, nest.place
    leaving: Way = []
    entering: Way = []
    top, bottom = source, target
    order = nest.order[source]
    while parent[top] != parent[bottom]:
        if depth[top] >= depth[bottom]:
            group = parent[top]
            inside = insides[group]
            ends = place[top], inside.port(inside.out_ports, net, order)
            leaving.append((group, inside.add(Link(net=net, ends=ends, weight=wire.weight))))
            top = group
        else:
            group = parent[bottom]
            inside = insides[group]
            ends = inside.port(inside.in_ports, net, order), place[bottom]
            entering.append((group, inside.add(Link(net=net, ends=ends, weight=wire.weight))))
            bottom = group
    group = parent[top]
    ends = place[top], place[bottom]
    across = Link(net=net, ends=ends, weight=wire.weight, is_back=wire.is_back)
    return [*leaving, (group, insides[group].add(across)), *reversed(entering)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child of the group, as the layout of its parent sees it."""

    width: float
    height: float
    order: int
    is_group: bool
    # Room at its right side for wires from the box to itself, and the height that their texts need.
    margin: float = 0.0
    room: float = 0.0
    # Where nets enter and leave a group, from its left side.
    in_ports: dict[int, float] = field(default_factory=dict)
    out_ports: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a group asks of its inside: margins at the four sides, and a least size."""

    top: float
    bottom: float
    left: float
    right: float
    # Where wires may begin to move sideways.
    wire_top: float
    least_width: float
    least_height: float
    # Ports of entry (exit) keep this far from the group's left side.
    entry_margin: float = 0.0
    exit_margin: float = 0.0


@dataclass(slots=True, kw_only=True)
class Laid:
    """A part that has its place within itself."""

    part: Part
    heights: Heights | None
    # For every vertex of the part which vertex of the group it is, and likewise for links.
    vertices: list[int]
    links: list[int]
    width: float
    bottom: float
    has_ports: bool
    x: float = 0.0
    y: float = 0.0


def _pieces(inside: Inside, num_vertices: int) -> list[tuple[list[int], list[int]]]:
    """Vertices and links of each connected piece, in the order of the pieces' first vertices."""
    piece_of = connected_pieces(num_vertices, (link.ends for link in inside.links))
    pieces: dict[int, tuple[list[int], list[int]]] = {}
    for vertex, piece in enumerate(piece_of):
        pieces.setdefault(piece, ([], []))[0].append(vertex)
    for number, link in enumerate(inside.links):
        pieces[piece_of[link.ends[0]]][1].append(number)
    return list(pieces.values())


def _lay_out_piece(
    children: list[Child], inside: Inside, piece: tuple[list[int], list[int]], frame: Frame
) -> Laid:
    vertices, links = piece
    part = _build(children, inside, vertices, links)
    heights = None
    if links:
        assign_ranks(part, SPACING.between_ranks)
        add_bends(part)
        order_rows(part)
        blocks = align(part)
        place_columns(part, blocks)
        place_lanes(part)
        attach(part, blocks)
        heights = place_heights(part, box_top=frame.top, wire_top=frame.wire_top)
        bottom = heights.bottom
    else:
        part.x, part.top = [part.left[0]], [frame.top]
        part.rows = [[0]]
        bottom = frame.top + part.height[0]
    width = max(part.x[one] + part.right[one] for row in part.rows for one in row)
    if part.lane_widths:
        lane = max(joint.column for joint in part.joints)
        width = max(width, lane + max(part.lane_widths) + SPACING.between_wires)
    has_ports = vertices[-1] >= len(children)
    return Laid(
        part=part, heights=heights, vertices=vertices, links=links, width=width, bottom=bottom,
        has_ports=has_ports,
    )  # fmt: skip


def _build(children: list[Child], inside: Inside, vertices: list[int], links: list[int]) -> Part:
    part = Part()
    entries = set(inside.in_ports.values())
    local: dict[int, int] = {}
    for vertex in vertices:
        if vertex < len(children):
            child = children[vertex]
            kind = Kind.GROUP if child.is_group else Kind.NODE
            half = child.width / 2
            height = max(child.height, child.room)
            local[vertex] = part.add_vertex(kind, half, half + child.margin, height, order=child.order)
            part.body[-1] = child.height
        else:
            kind = Kind.IN_PORT if vertex in entries else Kind.OUT_PORT
            order = inside.port_order[vertex - len(children)]
            local[vertex] = part.add_vertex(kind, 0.0, 0.0, 0.0, order=order)
            if vertex in inside.port_wishes:
                part.port_wish[local[vertex]] = inside.port_wishes[vertex]
    for number in links:
        link = inside.links[number]
        source, target = link.ends
        course = Course(link.net, local[source], local[target], link.weight, link.label, link.is_back)
        course.source_shift = _shift(children, source, link.net, leaving=True)
        course.target_shift = _shift(children, target, link.net, leaving=False)
        part.courses.append(course)
    return part


def _shift(children: list[Child], vertex: int, net: int, *, leaving: bool) -> float:
    """Where a net meets a group, from the group's middle."""
    if vertex >= len(children) or not children[vertex].is_group:
        return 0.0
    child = children[vertex]
    return (child.out_ports if leaving else child.in_ports)[net] - child.width / 2


def pack(laid: list[Laid], frame: Frame) -> tuple[float, float]:
    """Put the parts side by side: those with ports in one row, then large ones, then small ones."""
    if len(laid) == 1:
        return laid[0].width, laid[0].bottom
    tallest = max(one.bottom for one in laid) - frame.top
    with_ports = [one for one in laid if one.has_ports]
    others = [one for one in laid if not one.has_ports]
    large = [one for one in others if one.bottom - frame.top > tallest / 2]
    small = [one for one in others if one.bottom - frame.top <= tallest / 2]
    x, bottom = 0.0, 0.0
    for one in with_ports:
        one.x = x
        x += one.width + SPACING.between_parts
        bottom = max(bottom, one.bottom)
    for parts in (large, small):
        x, bottom = _shelve(parts, x, bottom, frame)
    return x - SPACING.between_parts, bottom


def _shelve(parts: list[Laid], left: float, bottom: float, frame: Frame) -> tuple[float, float]:
    """Put parts in rows that together are about as wide as high."""
    if not parts:
        return left, bottom
    gap = SPACING.between_parts
    area = sum((one.width + gap) * (one.bottom - frame.top + gap) for one in parts)
    most = max(sqrt(area * 1.6), max(one.width for one in parts))
    x = y = row_height = right = 0.0
    for one in parts:
        if x and x + one.width > most:
            x, y, row_height = 0.0, y + row_height + gap, 0.0
        one.x, one.y = left + x, y
        x += one.width + gap
        right = max(right, x)
        row_height = max(row_height, one.bottom - frame.top)
        bottom = max(bottom, y + one.bottom)
    return left + right, bottom


@dataclass(slots=True, kw_only=True)
class Interior:
    """A group's inside, laid out: corners of the children and runs of the links from the group's corner."""

    width: float
    height: float
    corners: list[Point]
    runs: list[Run]
    in_ports: dict[int, float]
    out_ports: dict[int, float]
    num_crossings: int


def lay_out_group(children: list[Child], inside: Inside, frame: Frame) -> Interior:
    """Place the children and route the links of one group."""
    num_vertices = len(children) + len(inside.in_ports) + len(inside.out_ports)
    laid = [_lay_out_piece(children, inside, piece, frame) for piece in _pieces(inside, num_vertices)]
    width, bottom = pack(laid, frame)
    height = max(bottom + frame.bottom, frame.least_height)
    left = _left_margin(laid, inside, frame, width)
    interior = Interior(
        width=max(left + width + frame.right, frame.least_width),
        height=height,
        corners=[(0.0, 0.0)] * len(children),
        runs=[_NO_RUN] * len(inside.links),
        in_ports={},
        out_ports={},
        num_crossings=sum(one.part.num_crossings for one in laid),
    )
    x_of: dict[int, float] = {}
    for one in laid:
        _put(one, left + one.x, height, interior, x_of)
    interior.in_ports = {net: x_of[vertex] for net, vertex in inside.in_ports.items()}
    interior.out_ports = {net: x_of[vertex] for net, vertex in inside.out_ports.items()}
    return interior


_NO_RUN = Run((0.0, 0.0), [], (0.0, 0.0))


def _left_margin(laid: list[Laid], inside: Inside, frame: Frame, width: float) -> float:
    """In the middle of a group that is wider than its inside; further right if ports need it."""
    spare = frame.least_width - frame.left - width - frame.right
    left = frame.left + max(0.0, spare / 2)
    x_of = {
        vertex: one.x + x
        for one in laid
        if one.has_ports
        for vertex, x in zip(one.vertices, one.part.x, strict=False)
    }
    for ports, margin in ((inside.in_ports, frame.entry_margin), (inside.out_ports, frame.exit_margin)):
        if ports and margin:
            left = max(left, margin - min(x_of[vertex] for vertex in ports.values()))
    return left


def _put(one: Laid, x: float, bottom: float, interior: Interior, x_of: dict[int, float]) -> None:
    """Move a piece to its place."""
    part = one.part
    for i, vertex in enumerate(one.vertices):
        x_of[vertex] = x + part.x[i]
        if vertex < len(interior.corners):
            interior.corners[vertex] = (x + part.x[i] - part.left[i], one.y + part.top[i])
    if one.heights is None:
        return
    runs = make_runs(part, one.heights, bottom=bottom - one.y)
    for number, run in zip(one.links, runs, strict=True):
        interior.runs[number] = move_run(run, x, one.y)


@dataclass(frozen=True, slots=True)
class Direction:
    """Whether the picture's sides are exchanged, and whether it is turned over."""

    exchanges: bool
    turns_over: bool

    def size(self, width: float, height: float) -> tuple[float, float]:
        return (height, width) if self.exchanges else (width, height)

    def frame(self, box: Box) -> Frame:
        """The margins of a group as the downward layout sees them."""
        width, height = self.size(box.width, box.height)
        padding = box.padding
        margin = box.title_width + SPACING.wire_to_label if box.title_width else 0.0
        side = box.header if self.exchanges else 0.0
        top = 0.0 if self.exchanges or self.turns_over else box.header
        bottom = box.header if self.turns_over else 0.0
        return Frame(
            top=top + padding,
            bottom=bottom + padding,
            left=side + padding,
            right=padding,
            wire_top=top,
            least_width=width,
            least_height=height,
            entry_margin=0.0 if self.exchanges or self.turns_over else margin,
            exit_margin=margin if self.turns_over else 0.0,
        )

    def turn(self, placement: Placement) -> Placement:
        """The finished picture, as it was asked for."""
        if not self.exchanges and not self.turns_over:
            return placement
        height = placement.height

        def turn_point(point: Point) -> Point:
            return (point[1], point[0]) if self.exchanges else (point[0], height - point[1])

        def turn_rect(rect: Rect) -> Rect:
            if self.exchanges:
                return Rect(rect.y, rect.x, rect.height, rect.width)
            return Rect(rect.x, height - rect.y - rect.height, rect.width, rect.height)

        width, height_now = self.size(placement.width, placement.height)
        return Placement(
            rects={key: turn_rect(rect) for key, rect in placement.rects.items()},
            routes=[route.mapped(turn_point, turn_rect) for route in placement.routes],
            width=width,
            height=height_now,
        )


DIRECTIONS = {
    "topdown": Direction(exchanges=False, turns_over=False),
    "bottomup": Direction(exchanges=False, turns_over=True),
    "leftright": Direction(exchanges=True, turns_over=False),
}


# Wires that come from about the same x may arrive in either order.
_SAME = 1.0


def wish_port_orders(nest: Nest, insides: dict[int, Inside], interiors: dict[int, Interior]) -> set[int]:
    """Fill the wishes of groups whose ports are in the wrong order; say which groups to lay out again."""
    stale: set[int] = set()
    for index in range(1, len(nest.boxes)):
        if index not in interiors:
            continue
        entries, exits = _wishes(nest, insides, interiors, index)
        inside, interior = insides[index], interiors[index]
        if _is_wrong(interior.in_ports, entries):
            inside.port_wishes |= {inside.in_ports[net]: x for net, x in entries.items()}
        if _is_wrong(interior.out_ports, exits):
            inside.port_wishes |= {inside.out_ports[net]: x for net, x in exits.items()}
        if inside.port_wishes:
            above = index
            while above >= 0 and above not in stale:
                stale.add(above)
                above = nest.parent[above]
    return stale


def _is_wrong(ports: dict[int, float], wishes: dict[int, float]) -> bool:
    ordered = [wishes[net] for net in sorted(ports, key=ports.__getitem__)]
    return any(one > other + _SAME for one, other in pairwise(ordered))


def _wishes(
    nest: Nest, insides: dict[int, Inside], interiors: dict[int, Interior], index: int
) -> tuple[dict[int, float], dict[int, float]]:
    """For each net the x, in the parent, from which it comes to a group and to which it goes from there."""
    parent, place = nest.parent[index], nest.place[index]
    outside, around = insides[parent], interiors[parent]
    entries: dict[int, float] = {}
    exits: dict[int, list[float]] = {}
    for link, run in zip(outside.links, around.runs, strict=True):
        source, target = link.ends
        # Where a port of the parent is about to move, its own wish counts.
        if target == place:
            x = run.curves[-1][0][0] if run.curves else run.end[0]
            entries[link.net] = outside.port_wishes.get(source, x)
        elif source == place:
            x = run.curves[0][-1][0] if run.curves else run.start[0]
            exits.setdefault(link.net, []).append(outside.port_wishes.get(target, x))
    return entries, {net: sum(places) / len(places) for net, places in exits.items()}


def lay_out(root: Box, wires: Sequence[Wire], *, direction: str = "topdown") -> Placement:
    """Where every box of `root` goes and how every wire runs.

    `direction` is where the flow goes: 'topdown', 'bottomup' or 'leftright'. The same boxes and wires
    always give the same picture.
    """
    turn = DIRECTIONS[direction]
    layout = _Layout(root, wires, turn)
    return turn.turn(layout.placement())


class _Layout:
    """One picture on its way, as if the flow went down."""

    def __init__(self, root: Box, wires: Sequence[Wire], turn: Direction) -> None:
        self.turn = turn
        self.nest = Nest(root)
        self.labels = [wire.label and turn.size(*wire.label) for wire in wires]
        self.insides, self.ways = cut(self.nest, wires, self.labels)
        self.loops: dict[int, list[int]] = {}  # wires from a box to itself, by box
        for number, wire in enumerate(wires):
            if wire.source == wire.target:
                self.loops.setdefault(self.nest.index_of[wire.source], []).append(number)
        self.interiors: dict[int, Interior] = {}
        self._lay_out_groups(range(len(self.nest.boxes)))
        self._reorder_ports()

    def _lay_out_groups(self, indices: Iterable[int]) -> None:
        # A box's children come after it in the nest.
        for index in sorted(indices, reverse=True):
            if self.nest.children[index]:
                self.interiors[index] = self._lay_out_group(index)

    def _reorder_ports(self) -> None:
        """Lay out groups again whose ports were in the wrong order, and keep that if fewer wires cross."""
        stale = wish_port_orders(self.nest, self.insides, self.interiors)
        before = {index: self.interiors[index] for index in stale}
        self._lay_out_groups(stale)
        now = sum(self.interiors[index].num_crossings for index in stale)
        if now >= sum(interior.num_crossings for interior in before.values()):
            self.interiors |= before

    def _lay_out_group(self, index: int) -> Interior:
        children = [self._child(child) for child in self.nest.children[index]]
        frame = self.turn.frame(self.nest.boxes[index])
        return lay_out_group(children, self.insides[index], frame)

    def _child(self, index: int) -> Child:
        box, order = self.nest.boxes[index], self.nest.order[index]
        interior = self.interiors.get(index)
        if interior is not None:
            return Child(
                width=interior.width,
                height=interior.height,
                order=order,
                is_group=True,
                in_ports=interior.in_ports,
                out_ports=interior.out_ports,
            )
        width, height = self.turn.size(box.width, box.height)
        margin, least = loop_room([self.labels[one] for one in self.loops.get(index, ())])
        return Child(width=width, height=height, order=order, is_group=False, margin=margin, room=least)

    def placement(self) -> Placement:
        corners: list[Point] = [(0.0, 0.0)]
        rects: list[Rect] = []
        corners *= len(self.nest.boxes)
        for index, box in enumerate(self.nest.boxes):
            interior = self.interiors.get(index)
            if interior is None:
                size = self.turn.size(box.width, box.height)
            else:
                size = interior.width, interior.height
                x, y = corners[index]
                for child, (left, top) in zip(self.nest.children[index], interior.corners, strict=True):
                    corners[child] = (x + left, y + top)
            rects.append(Rect(*corners[index], *size))
        return Placement(
            rects={box.key: rect for box, rect in zip(self.nest.boxes, rects, strict=True)},
            routes=self._routes(corners, rects),
            # Only a picture of a single box can have loops beside its outermost box.
            width=rects[0].width + (0.0 if self.interiors else self._child(0).margin),
            height=rects[0].height,
        )

    def _routes(self, corners: list[Point], rects: list[Rect]) -> list[Route]:
        looping: dict[int, Route] = {}
        for index, numbers in self.loops.items():
            labels = [self.labels[one] for one in numbers]
            looping.update(zip(numbers, draw_loops(rects[index], labels), strict=True))
        routes = []
        for number, way in enumerate(self.ways):
            if way:
                runs = ((corners[group], self.interiors[group].runs[link]) for group, link in way)
                routes.append(join(runs))
            else:
                routes.append(looping[number])
        return routes
