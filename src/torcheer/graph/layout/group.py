"""Lay out the inside of one group."""

from __future__ import annotations

from dataclasses import dataclass

from torcheer.graph.layout.boxes import Point, Rect, Spacing
from torcheer.graph.layout.nesting import Inside
from torcheer.graph.layout.packing import pack
from torcheer.graph.layout.pieces import Child, Frame, Laid, lay_out_pieces
from torcheer.graph.layout.runs import Curve, Run, make_runs


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


def lay_out_group(children: list[Child], inside: Inside, frame: Frame, spacing: Spacing) -> Interior:
    """Place the children and route the links of one group."""
    laid = lay_out_pieces(children, inside, frame, spacing)
    width, bottom = pack(laid, frame, spacing)
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
        _put(one, left + one.x, height, interior, x_of, spacing)
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


def _put(
    one: Laid, x: float, bottom: float, interior: Interior, x_of: dict[int, float], spacing: Spacing
) -> None:
    """Move a piece to its place."""
    part = one.part
    for i, vertex in enumerate(one.vertices):
        x_of[vertex] = x + part.x[i]
        if vertex < len(interior.corners):
            interior.corners[vertex] = (x + part.x[i] - part.left[i], one.y + part.top[i])
    if one.heights is None:
        return
    runs = make_runs(part, one.heights, spacing, bottom=bottom - one.y)
    for number, run in zip(one.links, runs, strict=True):
        interior.runs[number] = move_run(run, x, one.y)


def move_run(run: Run, x: float, y: float) -> Run:
    """The same run elsewhere."""
    label = run.label and Rect(run.label.x + x, run.label.y + y, run.label.width, run.label.height)
    return Run(
        (run.start[0] + x, run.start[1] + y),
        [move_curve(curve, x, y) for curve in run.curves],
        (run.end[0] + x, run.end[1] + y),
        label,
        run.goes_up,
    )


def move_curve(curve: Curve, x: float, y: float) -> Curve:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve
    return (x0 + x, y0 + y), (x1 + x, y1 + y), (x2 + x, y2 + y), (x3 + x, y3 + y)
