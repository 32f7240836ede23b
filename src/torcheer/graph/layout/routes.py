"""Join the runs of a wire through its groups into one route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torcheer.graph.layout.boxes import Piece, Point, Rect, Route, Spacing
from torcheer.graph.layout.runs import Curve, Run

# Straight lines shorter than this are left out.
_NOTHING = 1e-6


def join(runs: Iterable[tuple[Point, Run]]) -> Route:
    """One route through the runs, each with the corner of its group."""
    start: Point | None = None
    pieces: list[Piece] = []
    here: Point = (0.0, 0.0)
    label = None
    is_back = False
    for corner, run in runs:
        x, y = corner
        if start is None:
            start = here = (run.start[0] + x, run.start[1] + y)
        for curve in run.curves:
            begin, first, second, end = _moved(curve, x, y)
            _line(pieces, here, begin)
            pieces.append((first, second, end))
            here = end
        end = (run.end[0] + x, run.end[1] + y)
        if _line(pieces, here, end):
            here = end
        if run.label is not None:
            label = Rect(run.label.x + x, run.label.y + y, run.label.width, run.label.height)
        is_back = is_back or run.goes_up
    assert start is not None
    return Route(start=start, pieces=tuple(pieces), label=label, is_back=is_back)


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


def loop_room(labels: Sequence[tuple[float, float] | None], spacing: Spacing) -> tuple[float, float]:
    """Width and least height that loops with these labels need beside a box."""
    if not labels:
        return 0.0, 0.0
    texts = [label for label in labels if label]
    width = _reach(len(labels) - 1, spacing) + sum(label[0] + spacing.wire_to_label for label in texts)
    return width, max((label[1] for label in texts), default=0.0)


def _reach(number: int, spacing: Spacing) -> float:
    """How far from the box the loop with this number bulges."""
    return spacing.loop + number * spacing.loop / 3


def draw_loops(rect: Rect, labels: Sequence[tuple[float, float] | None], spacing: Spacing) -> list[Route]:
    """A route for each wire from a box to itself: one around the other at its right side, then the texts."""
    routes = []
    side, middle = rect.x + rect.width, rect.y + rect.height / 2
    text_x = side + _reach(len(labels) - 1, spacing)
    for number, label in enumerate(labels):
        apart = rect.height * (0.12 + 0.3 * (number + 1) / (len(labels) + 1))
        # A cubic with both control points on one side comes three quarters of the way to them.
        far = side + _reach(number, spacing) * 4 / 3
        arrow = side + spacing.loop / 2
        pieces: tuple[Piece, ...] = (
            ((far, middle + apart), (far, middle - apart), (arrow, middle - apart)),
            ((side, middle - apart),),
        )
        place = None
        if label:
            text_x += spacing.wire_to_label
            place = Rect(text_x, max(rect.y, middle - label[1] / 2), *label)
            text_x += label[0]
        routes.append(Route(start=(side, middle + apart), pieces=pieces, label=place, is_back=True))
    return routes
