"""What a layout is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Point = tuple[float, float]
# One point: a straight line to it. Three: a cubic curve, as two control points and the end.
Piece = tuple[Point] | tuple[Point, Point, Point]


class Rect(NamedTuple):
    """A place in the picture; y grows downwards."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Something to place: a node, or a group with children."""

    # Unique in the picture, and its order: boxes with smaller keys ran earlier.
    key: int
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
    # How much it wants to be short and straight.
    weight: float = 1.0
    # Against the flow on purpose, as the feedback of a loop is.
    is_back: bool = False


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
    # Straight piece before a target, for the arrow head.
    arrow: float = 10.0
    # Height of a curve that moves a wire sideways: for a small move, and at most.
    least_curve: float = 14.0
    most_curve: float = 38.0
    # How far a wire from a box to itself bulges out.
    loop: float = 18.0
    # Between pieces of a group that no wire connects.
    between_parts: float = 32.0


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
    # Whether the wire is drawn against the flow.
    is_back: bool = False

    @property
    def end(self) -> Point:
        return self.pieces[-1][-1]

    def corners(self) -> Iterator[Point]:
        """The start and every piece's end; control points left out."""
        yield self.start
        for piece in self.pieces:
            yield piece[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where everything goes, in absolute coordinates from (0, 0) at the top left."""

    # Every box by key, groups and the root included.
    rects: dict[int, Rect]
    # One for each wire, in the order of the wires.
    routes: list[Route]
    width: float
    height: float
