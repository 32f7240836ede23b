"""Give every vertex its y, and every sideways move of a wire the room it needs.

Vertices are dropped rank by rank onto what stands above them, so a chain of small boxes beside a tall
group uses the whole height of that group. A wire moves sideways in a zone of its own: below every box of
the ranks above it and above every box of the ranks below it, as far as the zone reaches. Everything else
of a wire is vertical, in a column that its vertices keep free.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from torcheer.graph.layout.model import Joint, Kind, Part, Spacing

_FAR = float("inf")


class Skyline:
    """Steps over the x axis: `heights[i]` holds from `edges[i]` to the next edge."""

    __slots__ = ("edges", "heights")

    def __init__(self) -> None:
        self.edges = [-_FAR]
        self.heights = [-_FAR]

    def lowest(self, left: float, right: float) -> float:
        """The greatest y reached between two x."""
        first = bisect_right(self.edges, left) - 1
        last = bisect_left(self.edges, right, first + 1)
        heights = self.heights
        return heights[first] if last == first + 1 else max(heights[first:last])

    def lower(self, left: float, right: float, y: float) -> None:
        """Let the drawing reach at least to y between two x."""
        edges, heights = self.edges, self.heights
        first = bisect_right(edges, left) - 1
        last = bisect_left(edges, right, first + 1)
        covered = heights[first:last]
        if min(covered) >= y:
            return
        new_edges = [left, *edges[first + 1 : last]]
        new_heights = [max(height, y) for height in covered]
        if edges[first] < left:
            new_edges.insert(0, edges[first])
            new_heights.insert(0, covered[0])
        if last == len(edges) or edges[last] > right:
            new_edges.append(right)
            new_heights.append(covered[-1])
        kept = [i for i, height in enumerate(new_heights) if not i or height != new_heights[i - 1]]
        edges[first:last] = [new_edges[i] for i in kept]
        heights[first:last] = [new_heights[i] for i in kept]


# Nearer than this two x are the same: nothing but rounding is between them.
_SAME = 1e-3
# How near a curve may come to a box that it passes.
_CLEARANCE = 6.0
_STUB = 3.0
_BOXES = (Kind.NODE, Kind.GROUP)


@dataclass(slots=True, kw_only=True)
class Heights:
    """What is known of the vertical besides the vertices' tops."""

    # Top and bottom of the zones in which segments move sideways; a straight segment has none.
    zones: dict[int, tuple[float, float]]
    bottom: float


def place_heights(part: Part, spacing: Spacing, *, box_top: float, wire_top: float) -> Heights:
    """Fill `top`: no box above `box_top`, no wire moving sideways above `wire_top`."""
    drop = _Drop(part, spacing, box_top, wire_top)
    # Wires may still turn around below the last rank.
    for rank in range(len(part.rows) + 1):
        drop.rank(rank)
    if any(part.floats):
        lift = _Sink(part, spacing, drop.zones, drop.joints_of)
        for rank in range(len(part.rows) - 1, -1, -1):
            lift.rank(rank)
    bottoms = [part.top[v] + part.height[v] for row in part.rows for v in row]
    bottoms += [zone_bottom for _, zone_bottom in drop.zones.values()]
    bottoms += [joint.zone_bottom for joint in part.joints]
    for course in part.courses:
        if course.label and course.label_vertex < 0 and course.arrival:
            bottoms.append(lane_label_top(part, course.arrival, course.label[1]) + course.label[1])
    return Heights(zones=drop.zones, bottom=max(bottoms, default=0.0))


def lane_label_top(part: Part, arrival: Joint, height: float) -> float:
    """Where a text fits beside a lane, between the wires that cross it on their way to lanes further out."""
    y = arrival.zone_bottom
    crossing = (joint for joint in part.joints if joint.column > arrival.column)
    for joint in sorted(crossing, key=lambda one: one.zone_top):
        if joint.zone_bottom > y:
            if joint.zone_top >= y + height:
                break
            y = joint.zone_bottom
    return y


def _span(part: Part, segment: int) -> tuple[float, float]:
    """The x between which a segment moves."""
    start = part.x[part.segment_from[segment]] + part.segment_out[segment]
    end = part.x[part.segment_to[segment]] + part.segment_in[segment]
    return (start, end) if start < end else (end, start)


def _curve_height(width: float, spacing: Spacing) -> float:
    return min(spacing.least_curve + 0.12 * width, spacing.most_curve)


class _Drop:
    """Everything as high as it can be, from the first rank to the last."""

    def __init__(self, part: Part, spacing: Spacing, box_top: float, wire_top: float) -> None:
        self.part, self.spacing = part, spacing
        self.box_top, self.wire_top = box_top, wire_top
        self.boxes, self.wires = Skyline(), Skyline()
        self.zones: dict[int, tuple[float, float]] = {}
        # Joints by the rank above the gap that they are in.
        self.joints_in: dict[int, list[Joint]] = {}
        self.joints_of: dict[int, list[Joint]] = {}
        for joint in part.joints:
            gap = part.rank[joint.vertex] - (not joint.is_below)
            self.joints_in.setdefault(gap, []).append(joint)
            self.joints_of.setdefault(joint.vertex, []).append(joint)
        part.top = [0.0] * len(part.kind)

    def rank(self, rank: int) -> None:
        part = self.part
        row = part.rows[rank] if rank < len(part.rows) else []
        if rank:
            for vertex in part.rows[rank - 1]:
                for segment in part.below[vertex]:
                    self._zone(segment, vertex)
        for joint in self.joints_in.get(rank - 1, ()):
            self._joint_zone(joint)
        for vertex in row:
            part.top[vertex] = self._highest(vertex)
        self._level(row)
        for vertex in row:
            self._stand(vertex)

    def _zone(self, segment: int, start: int) -> None:
        left, right = _span(self.part, segment)
        if right - left < _SAME:
            return
        top = max(
            self.boxes.lowest(left - _CLEARANCE, right + _CLEARANCE) + _CLEARANCE,
            self.part.top[start] + self.part.height[start],
            self.wire_top,
        )
        bottom = top + _curve_height(right - left, self.spacing)
        self.zones[segment] = (top, bottom)
        self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, bottom)

    def _joint_zone(self, joint: Joint) -> None:
        part = self.part
        here = part.x[joint.vertex] + joint.shift
        left, right = min(here, joint.column), max(here, joint.column)
        top = max(self.boxes.lowest(left - _CLEARANCE, right + _CLEARANCE) + _CLEARANCE, self.wire_top)
        if joint.is_below:
            top = max(top, part.top[joint.vertex] + part.height[joint.vertex])
            if joint.bend >= 0:
                top = max(top, part.top[joint.bend] + part.height[joint.bend])
        joint.zone_top, joint.zone_bottom = top, top + _curve_height(right - left, self.spacing)
        self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, joint.zone_bottom)

    def _highest(self, vertex: int) -> float:
        part, kind = self.part, self.part.kind[vertex]
        if kind is Kind.IN_PORT:
            return 0.0
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        if kind not in _BOXES:
            left, right = left - _CLEARANCE, right + _CLEARANCE
        top = self.wires.lowest(left, right) + (_CLEARANCE if kind in _BOXES else 0.0)
        top = max(top, self.box_top if kind in _BOXES else self.wire_top)
        above_boxes = self.boxes.lowest(left, right)
        if kind in _BOXES:
            top = max(top, above_boxes + self.spacing.between_strangers)
        else:
            top = max(top, above_boxes + (_CLEARANCE if kind is Kind.LABEL else 0.0))
        for segment in part.above[vertex]:
            top = max(top, self._below(segment, kind))
        if kind in _BOXES:
            for joint in self.joints_of.get(vertex, ()):
                if not joint.is_below:
                    top = max(top, joint.zone_bottom + self.spacing.arrow)
        return top

    def _below(self, segment: int, kind: Kind) -> float:
        """How high a vertex may be because of a segment that arrives at it."""
        part = self.part
        zone = self.zones.get(segment)
        if zone is not None:
            return zone[1] + (self.spacing.arrow if kind in _BOXES else 0.0)
        start = part.segment_from[segment]
        if part.kind[start] is Kind.IN_PORT:
            return self.wire_top
        bottom = part.top[start] + part.height[start]
        return bottom + _straight_gap(part.kind[start], kind, self.spacing)

    def _level(self, row: list[int]) -> None:
        """Let boxes whose tops are nearly equal stand in one line."""
        part = self.part
        boxes = [vertex for vertex in row if part.kind[vertex] in _BOXES]
        if len(boxes) < 2:
            return
        boxes.sort(key=part.top.__getitem__, reverse=True)
        level = part.top[boxes[0]]
        for vertex in boxes:
            if level - part.top[vertex] <= self.spacing.between_ranks:
                part.top[vertex] = level
            else:
                level = part.top[vertex]

    def _stand(self, vertex: int) -> None:
        part, kind = self.part, self.part.kind[vertex]
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        bottom = part.top[vertex] + part.height[vertex]
        if kind in _BOXES or kind is Kind.LABEL:
            self.boxes.lower(left, right, bottom)
        elif kind is Kind.BEND:
            self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, bottom)


def _straight_gap(start: Kind, end: Kind, spacing: Spacing) -> float:
    if end in _BOXES:
        return spacing.between_ranks if start in _BOXES else spacing.arrow
    return _CLEARANCE if end is Kind.LABEL and start in _BOXES else 0.0


class _Sink:
    """What floats is let down again, from the last rank to the first, until it meets its readers."""

    def __init__(
        self,
        part: Part,
        spacing: Spacing,
        zones: dict[int, tuple[float, float]],
        joints_of: dict[int, list[Joint]],
    ) -> None:
        self.part, self.spacing, self.zones, self.joints_of = part, spacing, zones, joints_of
        # Turned upside down: y counts upwards.
        self.boxes, self.wires = Skyline(), Skyline()

    def rank(self, rank: int) -> None:
        part = self.part
        row = part.rows[rank]
        for vertex in row:
            for segment in part.below[vertex]:
                if segment in self.zones:
                    self._zone(segment, part.floats[vertex])
            self._block(vertex, below=True)
        for vertex in row:
            if part.floats[vertex] and part.below[vertex] and part.kind[vertex] is not Kind.IN_PORT:
                part.top[vertex] = max(part.top[vertex], self._lowest(vertex))
        for vertex in row:
            self._hang(vertex)
            self._block(vertex, below=False)

    def _block(self, vertex: int, *, below: bool) -> None:
        for joint in self.joints_of.get(vertex, ()):
            if joint.is_below is below:
                here = self.part.x[vertex] + joint.shift
                left, right = min(here, joint.column), max(here, joint.column)
                self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, -joint.zone_top)

    def _zone(self, segment: int, floats: bool) -> None:
        part = self.part
        left, right = _span(part, segment)
        if floats:
            end = part.segment_to[segment]
            arrow = self.spacing.arrow if part.kind[end] in _BOXES else 0.0
            top, bottom = self.zones[segment]
            limit = -self.boxes.lowest(left - _CLEARANCE, right + _CLEARANCE) - _CLEARANCE
            if part.kind[end] is not Kind.OUT_PORT:
                limit = min(limit, part.top[end] - arrow)
            if limit < float("inf"):
                down = max(0.0, limit - bottom)
                self.zones[segment] = (top + down, bottom + down)
        self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, -self.zones[segment][0])

    def _lowest(self, vertex: int) -> float:
        part, kind = self.part, self.part.kind[vertex]
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        gap = self.spacing.between_strangers
        if kind not in _BOXES:
            left, right, gap = left - _CLEARANCE, right + _CLEARANCE, _CLEARANCE
        bottom = min(-self.wires.lowest(left, right) - _STUB, -self.boxes.lowest(left, right) - gap)
        for segment in part.below[vertex]:
            zone = self.zones.get(segment)
            end = part.segment_to[segment]
            if zone is not None:
                bottom = min(bottom, zone[0])
            elif part.kind[end] is not Kind.OUT_PORT:
                bottom = min(bottom, part.top[end] - _straight_gap(kind, part.kind[end], self.spacing))
        return bottom - part.height[vertex] if bottom < float("inf") else part.top[vertex]

    def _hang(self, vertex: int) -> None:
        part, kind = self.part, self.part.kind[vertex]
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        if kind in _BOXES or kind is Kind.LABEL:
            self.boxes.lower(left, right, -part.top[vertex])
        elif kind is Kind.BEND:
            self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, -part.top[vertex])
