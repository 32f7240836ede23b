"""Draw each link of a group as curves, and join the runs of a wire through its groups into one route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torcheer.graph.layout.coordinates import lane_label_top
from torcheer.graph.layout.model import SPACING, Component, Kind, Link, Piece, Point, Rect, Route, Size, Turn

# A cubic curve: its start, two control points, its end.
Curve = tuple[Point, Point, Point, Point]


@dataclass(slots=True)
class Run:
    """The way of a link inside its group, relative to the group's corner."""

    start: Point
    curves: list[Curve]
    end: Point
    label: Rect | None
    goes_up: bool


def make_run(component: Component, link: Link, height: float) -> Run:
    """The run of a link in a group of this height, where ports of exit lie."""
    if link.turns:
        curves = [*map(_u_curve, link.turns)]
        start_x, end_x = link.turns[0].x, link.turns[1].x
    else:
        curves = [
            _s_curve(segment.start_x, segment.end_x, *segment.zone) for segment in link.path if segment.zone
        ]
        start_x, end_x = link.path[0].start_x, link.path[-1].end_x
        if curves:
            start_x, end_x = curves[0][0][0], curves[-1][-1][0]
        else:
            end_x = start_x
    bottom = height - component.y if link.target.kind is Kind.OUT_PORT else link.target.top
    start = start_x, link.source.top + link.source.body
    run = Run(start, curves, (end_x, bottom), _label(component, link), link.goes_up)
    return _moved_run(run, component.x, component.y)


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
        run = _moved_run(inside, *corner)
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


def _moved_run(run: Run, x: float, y: float) -> Run:
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


def loop_room(labels: Sequence[Size | None]) -> tuple[float, float]:
    """Width and least height that loops with these labels need beside a box."""
    if not labels:
        return 0.0, 0.0
    texts = [label for label in labels if label]
    width = _reach(len(labels) - 1) + sum(label[0] + SPACING.wire_to_label for label in texts)
    return width, max((label[1] for label in texts), default=0.0)


def _reach(number: int) -> float:
    """How far from the box the loop with this number bulges."""
    return SPACING.loop + number * SPACING.loop / 3


def draw_loops(rect: Rect, labels: Sequence[Size | None]) -> list[Route]:
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
