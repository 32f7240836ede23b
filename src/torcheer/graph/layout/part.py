"""One connected piece of a group's inside, while it is being laid out.

The lists grow from stage to stage: ranking fills `rank`, bends add vertices and segments, ordering fills
`rows` and `place`, columns fill `x`, heights fill `top`. Plain lists, one entry a vertex or segment, because
every stage loops over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


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
