"""A matrix as a picture: a cell for each value, coloured by a scale that lasts from frame to frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.charts.colourscale import SCALE_WIDTH, coloured, draw_scale
from torcheer.inspector.recording.charts.fitting import averaged, enlarged, fitted_size
from torcheer.inspector.recording.charts.limits import ColourLimits
from torcheer.inspector.recording.charts.measuring import Values
from torcheer.inspector.recording.sheet import Box, Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """What is drawn of a matrix: never more cells than there are pixels for them."""

    cells: NDArray[Any]
    rows: int
    columns: int
    height: int  # in pixels
    width: int


class PictureChart:
    """The pictures of one tensor over time."""

    def __init__(self) -> None:
        self.limits = ColourLimits()

    def take(self, values: Values, sheet: Sheet, box: Box) -> Matrix:
        """The matrix that is in the last two dimensions; those before them are 1."""
        rows, columns = values.shape[-2:]
        matrix = values.reshape(rows, columns)
        height, width = fitted_size(rows, columns, picture_width(sheet, box), box.height)
        cells = averaged(matrix, height, width)
        finite = cells[numpy.isfinite(cells)]
        if finite.size:
            self.limits.include(float(finite.min()), float(finite.max()))
        own = cells.copy() if numpy.may_share_memory(cells, values) else cells
        return Matrix(cells=own, rows=rows, columns=columns, height=height, width=width)

    def draw(self, sheet: Sheet, box: Box, taken: Matrix) -> str:
        """Returns what is to be said below."""
        wide, height, width = picture_width(sheet, box), taken.height, taken.width
        pixels = coloured(self.limits.levels(taken.cells), self.limits, sheet.theme)
        is_nan = numpy.isnan(taken.cells)
        x, y = box.x + (wide - width) // 2, box.y + (box.height - height) // 2
        hatched = enlarged(is_nan, height, width) if is_nan.any() else None
        cell = min(height // len(taken.cells), width // taken.cells.shape[1])
        sheet.put(x, y, enlarged(pixels, height, width), hatched, cell)
        if wide < box.width:
            draw_scale(sheet, Box(x + width + sheet.px(12), y, 0, height), self.limits)
        return _said(taken)


def picture_width(sheet: Sheet, box: Box) -> int:
    """What the colour scale leaves for the picture; where there is little, the scale is left out."""
    scale = sheet.px(SCALE_WIDTH)
    return box.width - scale if box.width >= 3 * scale else box.width


def _said(taken: Matrix) -> str:
    down, across = taken.rows / taken.height, taken.columns / taken.width
    if down <= 1 and across <= 1:
        return ""
    return f"a pixel is the mean of about {max(1, round(down))} × {max(1, round(across))} values"
