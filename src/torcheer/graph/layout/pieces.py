"""Take a group's inside apart into connected pieces, and lay out each."""

from __future__ import annotations

from dataclasses import dataclass, field

from torcheer.graph.layout.alignment import align
from torcheer.graph.layout.attaching import attach, place_lanes
from torcheer.graph.layout.bends import add_bends
from torcheer.graph.layout.boxes import Spacing
from torcheer.graph.layout.columns import place_columns
from torcheer.graph.layout.heights import Heights, place_heights
from torcheer.graph.layout.nesting import Inside
from torcheer.graph.layout.ordering import order_rows
from torcheer.graph.layout.part import Course, Kind, Part
from torcheer.graph.layout.ranking import assign_ranks


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


def lay_out_pieces(children: list[Child], inside: Inside, frame: Frame, spacing: Spacing) -> list[Laid]:
    """Each piece by itself, from x = 0 and below the frame's top."""
    num_vertices = len(children) + len(inside.in_ports) + len(inside.out_ports)
    return [
        _lay_out_piece(children, inside, piece, frame, spacing) for piece in _pieces(inside, num_vertices)
    ]


def _pieces(inside: Inside, num_vertices: int) -> list[tuple[list[int], list[int]]]:
    """Vertices and links of each connected piece, in the order of the pieces' first vertices."""
    leader = list(range(num_vertices))

    def find(vertex: int) -> int:
        while leader[vertex] != vertex:
            leader[vertex] = leader[leader[vertex]]
            vertex = leader[vertex]
        return vertex

    for link in inside.links:
        one, other = find(link.ends[0]), find(link.ends[1])
        leader[max(one, other)] = min(one, other)
    pieces: dict[int, tuple[list[int], list[int]]] = {}
    for vertex in range(num_vertices):
        pieces.setdefault(find(vertex), ([], []))[0].append(vertex)
    for number, link in enumerate(inside.links):
        pieces[find(link.ends[0])][1].append(number)
    return list(pieces.values())


def _lay_out_piece(
    children: list[Child], inside: Inside, piece: tuple[list[int], list[int]], frame: Frame, spacing: Spacing
) -> Laid:
    vertices, links = piece
    part = _build(children, inside, vertices, links)
    heights = None
    if links:
        assign_ranks(part, spacing.between_ranks)
        add_bends(part, spacing)
        order_rows(part)
        blocks = align(part)
        place_columns(part, blocks, spacing)
        place_lanes(part, spacing)
        attach(part, blocks)
        heights = place_heights(part, spacing, box_top=frame.top, wire_top=frame.wire_top)
        bottom = heights.bottom
    else:
        part.x, part.top = [part.left[0]], [frame.top]
        part.rows = [[0]]
        bottom = frame.top + part.height[0]
    width = max(part.x[one] + part.right[one] for row in part.rows for one in row)
    if part.lane_widths:
        lane = max(joint.column for joint in part.joints)
        width = max(width, lane + max(part.lane_widths) + spacing.between_wires)
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
