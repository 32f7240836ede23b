"""The rows of a tensor as points, in the plane in which they differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.charts.limits import AxisLimits
from torcheer.inspector.recording.charts.measuring import Values
from torcheer.inspector.recording.colours import ramp
from torcheer.inspector.recording.readable import readable_number, ticks
from torcheer.inspector.recording.sheet import Box, Sheet

_MOST_POINTS: Final = 400  # rows that are looked at: what it takes grows with their cube
_RADIUS: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Points in the plane of the first two components."""

    points: NDArray[Any]  # a row for each: across and up
    num_rows: int  # of the tensor
    explained: tuple[float, float]  # shares of the variance


class PointChart:
    """The rows of one tensor over time.

    Which way the components point, and how they lie in their plane, is up to nobody: each frame is turned
    so that its plane lies as nearly as may be like that of the frame before it.
    """

    def __init__(self) -> None:
        self.limits = AxisLimits()
        self._before: NDArray[Any] | None = None

    def take(self, values: Values, sheet: Sheet, box: Box) -> Cloud:
        rows = values.reshape(values.shape[0], -1)
        num_rows = len(rows)
        if num_rows > _MOST_POINTS:
            rows = rows[numpy.linspace(0, num_rows - 1, _MOST_POINTS).round().astype(int)]
        usable = rows[numpy.isfinite(rows).all(axis=1)].astype(numpy.float64)
        points, axes, explained = _plane(usable)
        if self._before is not None and self._before.shape == axes.shape:
            turn = _turn(axes, self._before)
            points, axes = points @ turn, axes @ turn
        if len(usable) > 1:
            self._before = axes
        if points.size:
            most = float(numpy.abs(points).max())
            self.limits.include(-most, most)
        return Cloud(points=points, num_rows=num_rows, explained=explained)

    def draw(self, sheet: Sheet, box: Box, taken: Cloud) -> str:
        side = min(box.width, box.height)
        area = Box(box.x + (box.width - side) // 2, box.y, side, side)
        low, high = self.limits.low, self.limits.high
        for value in ticks(low, high, 5):
            at = round((value - low) / (high - low) * (side - 1))
            colour = sheet.theme.line_2 if value == 0 else sheet.theme.line
            sheet.fill(Box(area.x + at, area.y, 1, side), colour)
            sheet.fill(Box(area.x, area.y + side - 1 - at, side, 1), colour)
            middle = area.y + side - 1 - at - sheet.line_height("caption") // 2
            sheet.text(
                readable_number(value), "caption", area.x - sheet.px(6), middle, sheet.theme.text_3, "right"
            )
        places = (taken.points - low) / (high - low) * (side - 1)
        if len(places):
            _draw_discs(sheet, area, places)
        return _said(taken)


def _plane(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], tuple[float, float]]:
    """Points, the two directions they are measured along, and how much of the variance each has."""
    num, width = rows.shape
    axes = numpy.zeros((width, 2))
    if num < 2 or not width:
        return numpy.zeros((num, 2)), axes, (0.0, 0.0)
    centred = rows - rows.mean(axis=0)
    # The smaller of the two products has the same answer: no more than a few hundred rows.
    if num <= width:
        variances, vectors = numpy.linalg.eigh(centred @ centred.T)
        directions = centred.T @ vectors[:, ::-1][:, :2]
        lengths = numpy.linalg.norm(directions, axis=0)
        found = directions / numpy.where(lengths > 0, lengths, 1.0)
    else:
        variances, vectors = numpy.linalg.eigh(centred.T @ centred)
        found = vectors[:, ::-1][:, :2]
    axes[:, : found.shape[1]] = found
    # The sign is free: the largest part of each direction points up.
    largest = numpy.abs(axes).argmax(axis=0)
    axes *= numpy.where(axes[largest, [0, 1]] < 0, -1.0, 1.0)
    total = float((centred**2).sum())
    top = [float(value) / total if total > 0 else 0.0 for value in variances[::-1][:2]]
    first, second = (*top, 0.0)[:2]
    return centred @ axes, axes, (max(0.0, first), max(0.0, second))


def _turn(axes: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
    """The turn or reflection in the plane that brings directions nearest to those before."""
    left, _, right = numpy.linalg.svd(axes.T @ before)
    turn: NDArray[Any] = left @ right
    return turn


def _draw_discs(sheet: Sheet, area: Box, places: NDArray[Any]) -> None:
    radius = _RADIUS * sheet.scale if len(places) <= 200 else _RADIUS * sheet.scale * 0.7
    reach = int(radius)
    offsets = numpy.arange(-reach, reach + 1)
    down, across = (
        part[(offsets[:, None] ** 2 + offsets**2) <= radius**2] for part in numpy.meshgrid(offsets, offsets)
    )
    x = area.x + numpy.rint(places[:, :1]).astype(int) + across
    y = area.y + area.height - 1 - numpy.rint(places[:, 1:]).astype(int) + down
    # From the first row to the last, so that an eye can follow one; without the palest.
    colours = ramp(sheet.theme.sequential[90::40].tolist(), max(2, len(places)))[: len(places)]
    seen = (x >= area.x) & (x < area.x + area.width) & (y >= area.y) & (y < area.y + area.height)
    ink = numpy.broadcast_to(colours[:, None], x.shape)
    sheet.pixels[y[seen], x[seen]] = ink[seen]


def _said(taken: Cloud) -> str:
    first, second = (f"{share * 100:.0f} %" for share in taken.explained)
    shown = "" if len(taken.points) == taken.num_rows else f"{len(taken.points)} of {taken.num_rows} rows · "
    return f"{shown}a point is a row; the first two components have {first} and {second} of the variance"
