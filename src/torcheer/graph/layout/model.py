"""What a layout is asked for and answers, and what a group consists of while it is laid out.

Ranks fill `rank` and add bends and segments, order fills `rows` and `place`, coordinates fill `x` and `top`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

Point = tuple[float, float]
Size = tuple[float, float]
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
class Spacing:
    """How much room is left between things."""

    # Between boxes side by side, and between a box and the next along a wire.
    between_boxes: float = 24.0
    between_ranks: float = 26.0
    # Between boxes that stand above each other without a wire between them.
    between_strangers: float = 18.0
    between_wires: float = 12.0
    wire_to_box: float = 14.0
    wire_to_label: float = 5.0
    arrow: float = 10.0  # straight piece before a target, for the arrow head
    # Height of a curve that moves a wire sideways: for a small move, and at most.
    least_curve: float = 14.0
    most_curve: float = 38.0
    loop: float = 18.0  # how far a wire from a box to itself bulges out
    between_parts: float = 32.0  # between pieces of a group that no wire connects


SPACING: Final = Spacing()


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


class Kind(IntEnum):
    """What a vertex stands for."""

    NODE = 0
    GROUP = 1
    IN_PORT = 2
    OUT_PORT = 3
    BEND = 4  # where a long wire passes a rank
    LABEL = 5  # a bend with a text beside it


@dataclass(slots=True, eq=False)
class Vertex:
    """A thing with a place in one group: a box, a port or a bend. Stages fill it one after the other."""

    kind: Kind
    # How far it reaches to either side of its middle, and its height.
    left: float = 0.0
    right: float = 0.0
    height: float = 0.0
    # The height at which wires leave it: less than its height where texts beside it are higher.
    body: float = 0.0
    order: int = 0  # boxes with a smaller one ran earlier
    rank: int = 0
    floats: bool = False  # stays close to its readers rather than to the top
    # Who stands below it and above it, and by how many ranks at least.
    after: list[tuple[Vertex, int]] = field(default_factory=list)
    before: list[tuple[Vertex, int]] = field(default_factory=list)
    above: list[Segment] = field(default_factory=list)
    below: list[Segment] = field(default_factory=list)
    place: int = 0  # in its row
    block: int = -1  # what it moves with, and how far it is from the middle of that
    offset: float = 0.0
    x: float = 0.0
    top: float = 0.0

    @property
    def is_box(self) -> bool:
        return self.kind <= Kind.GROUP

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass(slots=True, eq=False)
class Segment:
    """A piece of a wire between neighbouring ranks. Wires of one net share segments."""

    start: Vertex
    end: Vertex
    net: int
    weight: float
    score: float
    # Where it meets its ends, sideways from their middles.
    shift_out: float = 0.0
    shift_in: float = 0.0
    is_straight: bool = False
    zone: tuple[float, float] | None = None  # top and bottom of where it moves sideways

    @property
    def start_x(self) -> float:
        return self.start.x + self.shift_out

    @property
    def end_x(self) -> float:
        return self.end.x + self.shift_in


@dataclass(slots=True, eq=False)
class Turn:
    """Where a wire against the flow turns around: below its source, or above its target."""

    vertex: Vertex
    is_below: bool
    shift: float = 0.0  # from the vertex's middle
    column: float = 0.0  # the x of the wire beside everything else
    top: float = 0.0
    bottom: float = 0.0

    @property
    def x(self) -> float:
        return self.vertex.x + self.shift


@dataclass(slots=True, eq=False)
class Link:
    """The way of a wire, or of several that share it, inside one group: from a child or port to another."""

    # Wires of one source share links, ports and bends; parallel wires are different nets.
    net: int
    source: Vertex
    target: Vertex
    weight: float
    label: Size | None = None
    is_back: bool = False
    # Where it meets its ends if these are groups.
    source_shift: float = 0.0
    target_shift: float = 0.0
    goes_up: bool = False
    score: float = 0.0  # length of the longest way through it
    path: list[Segment] = field(default_factory=list)
    label_vertex: Vertex | None = None
    turns: tuple[Turn, Turn] | None = None  # at source and target, where it goes up


@dataclass(slots=True, eq=False)
class Component:
    """The vertices of a group that links connect. Bends and rows are added by the stages."""

    vertices: list[Vertex]
    links: list[Link]
    segments: list[Segment] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    rows: list[list[Vertex]] = field(default_factory=list)  # of each rank, from left to right
    width: float = 0.0
    bottom: float = 0.0
    x: float = 0.0
    y: float = 0.0

    def add_bend(self, kind: Kind, rank: int) -> Vertex:
        bend = Vertex(kind, rank=rank)
        self.vertices.append(bend)
        return bend

    def add_segment(
        self, start: Vertex, end: Vertex, link: Link, shift_out: float = 0.0, shift_in: float = 0.0
    ) -> Segment:
        segment = Segment(start, end, link.net, link.weight, link.score, shift_out, shift_in)
        self.segments.append(segment)
        start.below.append(segment)
        end.above.append(segment)
        return segment


def connected_pieces(size: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each of so many things a number that it shares with all it is connected to: that of the first."""
    leader = list(range(size))

    def find(one: int) -> int:
        while leader[one] != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        return one

    for one, other in pairs:
        one, other = find(one), find(other)
        leader[max(one, other)] = min(one, other)
    return [find(one) for one in range(size)]
