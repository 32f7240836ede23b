"""Draw each course of a part as curves, and join the runs of a wire through its groups into one route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torcheer.graph.layout.coordinates import Heights, lane_label_top
from torcheer.graph.layout.model import SPACING, Chain, Course, Joint, Kind, Part, Piece, Point, Rect, Route

# A cubic curve: its start, two control points, its end.
Curve = tuple[Point, Point, Point, Point]


@dataclass(slots=True)
class Run:
    """The way of a link inside its group, relative to the group's corner."""

    start: Point
    curves: list[Curve]
    end: Point
    label: Rect | None = None
    goes_up: bool = False


@dataclass(slots=True)
class _Column:
    """A chain's sideways moves: after how many of its vertices, and the curve."""

    after: list[int] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)


def make_runs(part: Part, heights: Heights, *, bottom: float) -> list[Run]:
    """One run a course; ports of exit lie at `bottom`."""
    columns: dict[int, _Column] = {}
    runs = []
    for course in part.courses:
        column = columns.get(id(course.chain))
        if column is None:
            column = columns[id(course.chain)] = _column(part, heights, course.chain)
        run = _run_up(part, column, course) if course.goes_up else _run_down(part, heights, column, course)
        run.label = _label(part, course)
        _meet_ends(part, course, run, bottom)
        runs.append(run)
    return runs


def _column(part: Part, heights: Heights, chain: Chain) -> _Column:
    column = _Column()
    first = len(chain.vertices) - len(chain.segments)
    for i, segment in enumerate(chain.segments):
        curve = _segment_curve(part, heights, segment)
        if curve is not None:
            column.after.append(i + first)
            column.curves.append(curve)
    return column


def _segment_curve(part: Part, heights: Heights, segment: int) -> Curve | None:
    zone = heights.zones.get(segment)
    if zone is None:
        return None
    start = part.x[part.segment_from[segment]] + part.segment_out[segment]
    end = part.x[part.segment_to[segment]] + part.segment_in[segment]
    return _s_curve(start, zone[0], end, zone[1])


def _s_curve(start_x: float, start_y: float, end_x: float, end_y: float) -> Curve:
    middle = (start_y + end_y) / 2
    return (start_x, start_y), (start_x, middle), (end_x, middle), (end_x, end_y)


def _u_curve(start_x: float, end_x: float, y: float, reach: float) -> Curve:
    # A cubic reaches three quarters of the way to its control points.
    far = y + reach * 4 / 3
    return (start_x, y), (start_x, far), (end_x, far), (end_x, y)


def _joint_curve(part: Part, joint: Joint) -> Curve:
    """Away from the vertex where the joint is below it, towards it where it is above."""
    here = part.x[joint.vertex] + joint.shift
    top, bottom = joint.zone_top, joint.zone_bottom
    if joint.is_below:
        if joint.is_turn:
            return _u_curve(here, joint.column, top, bottom - top)
        return _s_curve(here, top, joint.column, bottom)
    if joint.is_turn:
        return _u_curve(joint.column, here, bottom, top - bottom)
    return _s_curve(joint.column, top, here, bottom)


def _run_down(part: Part, heights: Heights, column: _Column, course: Course) -> Run:
    curves = [_joint_curve(part, course.chain.start)] if course.chain.start else []
    for after, curve in zip(column.after, column.curves, strict=True):
        if after >= course.num_steps:
            break
        curves.append(curve)
    if course.arrival:
        curves.append(_joint_curve(part, course.arrival))
    for segment in course.tail:
        last = _segment_curve(part, heights, segment)
        if last is not None:
            curves.append(last)
    return Run((0.0, 0.0), curves, (0.0, 0.0))


def _run_up(part: Part, column: _Column, course: Course) -> Run:
    assert course.chain.start is not None
    assert course.arrival is not None
    upwards = [(end, second, first, start) for start, first, second, end in reversed(column.curves)]
    curves = [_joint_curve(part, course.chain.start), *upwards, _joint_curve(part, course.arrival)]
    return Run((0.0, 0.0), curves, (0.0, 0.0), goes_up=True)


def _meet_ends(part: Part, course: Course, run: Run, bottom: float) -> None:
    """Begin at the source's lower side and end at the target's upper one."""
    source, target = course.source, course.target
    if run.curves:
        start_x, end_x = run.curves[0][0][0], run.curves[-1][-1][0]
    else:
        segment = course.chain.segments[0] if course.num_steps else course.tail[0]
        start_x = end_x = part.x[source] + part.segment_out[segment]
    run.start = (start_x, part.top[source] + part.body[source])
    run.end = (end_x, bottom if part.kind[target] is Kind.OUT_PORT else part.top[target])


def _label(part: Part, course: Course) -> Rect | None:
    if course.label is None:
        return None
    width, height = course.label
    vertex = course.label_vertex
    if vertex >= 0:
        return Rect(part.x[vertex] + SPACING.wire_to_label, part.top[vertex], width, height)
    assert course.arrival is not None
    lane = course.arrival.column
    return Rect(lane + SPACING.wire_to_label, lane_label_top(part, course.arrival, height), width, height)


# Straight lines shorter than this are left out.
_NOTHING = 1e-6


def join(runs: Iterable[tuple[Point, Run]]) -> Route:
    """One route through the runs, each with the corner of its group."""
    start: Point | None = None
    pieces: list[Piece] = []
    here: Point = (0.0, 0.0)
    label = None
    is_back = False
    for corner, inside in runs:
        run = move_run(inside, *corner)
        if start is None:
            start = here = run.start
        for begin, first, second, end in run.curves:
            _line(pieces, here, begin)
            pieces.append((first, second, end))
            here = end
        if _line(pieces, here, run.end):
            here = run.end
        label = run.label or label
        is_back = is_back or run.goes_up
    assert start is not None
    return Route(start=start, pieces=tuple(pieces), label=label, is_back=is_back)


def move_run(run: Run, x: float, y: float) -> Run:
    """The same run elsewhere."""
    label = run.label and run.label.moved(x, y)
    return Run(
        (run.start[0] + x, run.start[1] + y),
        [_moved(curve, x, y) for curve in run.curves],
        (run.end[0] + x, run.end[1] + y),
        label,
        run.goes_up,
    )


def _moved(curve: Curve, x: float, y: float) -> Curve:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve
    return (x0 + x, y0 + y), (x1 + x, y1 + y), (x2 + x, y2 + y), (x3 + x, y3 + y)


def _line(pieces: list[Piece], start: Point, end: Point) -> bool:
    """Add a straight line, or lengthen the one before."""
    if abs(end[1] - start[1]) < _NOTHING:
        return False
    if pieces and len(pieces[-1]) == 1:
        pieces.pop()
    pieces.append((end,))
    return True


def loop_room(labels: Sequence[tuple[float, float] | None]) -> tuple[float, float]:
    """Width and least height that loops with these labels need beside a box."""
    if not labels:
        return 0.0, 0.0
    texts = [label for label in labels if label]
    width = _reach(len(labels) - 1) + sum(label[0] + SPACING.wire_to_label for label in texts)
    return width, max((label[1] for label in texts), default=0.0)


def _reach(number: int) -> float:
    """How far from the box the loop with this number bulges."""
    return SPACING.loop + number * SPACING.loop / 3


def draw_loops(rect: Rect, labels: Sequence[tuple[float, float] | None]) -> list[Route]:
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
