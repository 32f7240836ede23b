"""What a layout is asked for and answers, and one connected piece of a group while it is laid out.

The lists of a part grow from stage to stage: ranks fill `rank`, bends add vertices and segments, order fills
`rows` and `place`, coordinates fill `x`, heights fill `top`. Plain lists, one entry a vertex or segment,
because every stage loops over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

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
    label: tuple[float, float] | None = None
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
    # Where a long wire passes a rank.
    BEND = 4
    # A bend with a text beside it.
    LABEL = 5
    # Holds a wire against the flow to its two ends while the ranks are ordered; then gone.
    HUB = 6


@dataclass(slots=True)
class Joint:
    """Where a wire leaves a vertex for a column of its own, within the gap above or below the vertex."""

    vertex: int
    # Sideways from the vertex's middle, and the bend it goes to; a lane has no bend, only an x.
    shift: float
    is_below: bool
    is_turn: bool
    bend: int = -1
    lane: int = -1
    column: float = 0.0
    zone_top: float = 0.0
    zone_bottom: float = 0.0


@dataclass(slots=True)
class Chain:
    """The column of bends that a net's wires share, or that a wire against the flow has for itself."""

    vertices: list[int] = field(default_factory=list)
    # The segment that leads to each vertex; a chain against the flow has none to its first.
    segments: list[int] = field(default_factory=list)
    # Set where the chain is joined sideways to its source: against the flow, or far out in a lane.
    start: Joint | None = None


@dataclass(slots=True)
class Course:
    """A link, and how it runs through the part."""

    net: int
    source: int
    target: int
    weight: float
    label: tuple[float, float] | None
    is_back: bool
    # Where it meets its ends, sideways from their middles, if these are groups.
    source_shift: float = 0.0
    target_shift: float = 0.0
    # Length of the longest way through it.
    score: float = 0.0
    goes_up: bool = False
    chain: Chain = field(default_factory=Chain)
    # How many of the chain's vertices it passes, and the segments after them.
    num_steps: int = 0
    tail: list[int] = field(default_factory=list)
    arrival: Joint | None = None
    label_vertex: int = -1


class Part:
    """Vertices, the segments between neighbouring ranks, and the courses made of them."""

    __slots__ = (
        "above", "below", "body", "courses", "floats", "height", "joints", "kind", "lane_widths", "left",
        "num_crossings", "order", "place", "port_wish", "rank", "right", "rows", "segment_from",
        "segment_in", "segment_net", "segment_out", "segment_score", "segment_to", "segment_weight",
        "top", "x",
    )  # fmt: skip

    def __init__(self) -> None:
        self.kind: list[Kind] = []
        # How far a vertex reaches to either side of its middle, and its height.
        self.left: list[float] = []
        self.right: list[float] = []
        self.height: list[float] = []
        # The height at which wires leave it: less than its height where texts beside it are higher.
        self.body: list[float] = []
        self.order: list[int] = []
        self.rank: list[int] = []
        # Whether it stays close to its readers rather than to the top.
        self.floats: list[bool] = []
        self.courses: list[Course] = []
        self.joints: list[Joint] = []
        # Lanes run beside everything else, for wires that are too long for bends; a text may stand in one.
        self.lane_widths: list[float] = []
        # Segments, and the ids of those that end and begin at a vertex.
        self.segment_from: list[int] = []
        self.segment_to: list[int] = []
        self.segment_out: list[float] = []
        self.segment_in: list[float] = []
        self.segment_weight: list[float] = []
        self.segment_score: list[float] = []
        self.segment_net: list[int] = []
        self.above: list[list[int]] = []
        self.below: list[list[int]] = []
        # Vertices of each rank from left to right, and a vertex's place in its row.
        self.rows: list[list[int]] = []
        self.place: list[int] = []
        # How many wires cross, and for ports the x that their order has to follow.
        self.num_crossings = 0
        self.port_wish: dict[int, float] = {}
        self.x: list[float] = []
        self.top: list[float] = []

    def add_vertex(
        self, kind: Kind, left: float, right: float, height: float, *, order: int = 0, rank: int = 0
    ) -> int:
        self.kind.append(kind)
        self.left.append(left)
        self.right.append(right)
        self.height.append(height)
        self.body.append(height)
        self.order.append(order)
        self.rank.append(rank)
        self.floats.append(False)
        self.above.append([])
        self.below.append([])
        return len(self.kind) - 1

    def add_segment(
        self, start: int, end: int, course: Course, shift_out: float = 0.0, shift_in: float = 0.0
    ) -> int:
        segment = len(self.segment_from)
        self.segment_from.append(start)
        self.segment_to.append(end)
        self.segment_out.append(shift_out)
        self.segment_in.append(shift_in)
        self.segment_weight.append(course.weight)
        self.segment_score.append(course.score)
        self.segment_net.append(course.net)
        self.below[start].append(segment)
        self.above[end].append(segment)
        return segment

    def strengthen(self, segment: int, course: Course) -> None:
        """Let a shared segment matter as much as the weightiest of the courses through it."""
        here = (self.segment_weight[segment], self.segment_score[segment])
        self.segment_weight[segment], self.segment_score[segment] = max(here, (course.weight, course.score))


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
