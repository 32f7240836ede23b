"""How a grid of values fits a box of pixels: larger by whole cells, smaller by means."""

from __future__ import annotations

from typing import Any, Final

import numpy
from numpy.typing import NDArray

_SLENDER: Final = 0.6  # of the box: what would be narrower is drawn with cells that are no squares
_SHARP: Final = 3.0  # from so many pixels a cell on, all cells are exactly equal


def fitted_size(rows: int, columns: int, width: int, height: int) -> tuple[int, int]:
    """How many pixels high and wide a grid becomes."""
    scale = min(width / columns, height / rows)
    if scale >= _SHARP:
        scale = float(int(scale))
    across, down = columns * scale, rows * scale
    if across < _SLENDER * width:
        across = _stretched(columns, _SLENDER * width)
    elif down < _SLENDER * height:
        down = _stretched(rows, _SLENDER * height)
    return max(1, min(height, round(down))), max(1, min(width, round(across)))


def _stretched(num_cells: int, length: float) -> float:
    scale = length / num_cells
    return num_cells * (float(int(scale)) if scale >= _SHARP else scale)


def averaged(values: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """No more rows and columns than that: each then stands for the mean of those that share a pixel.

    One value that is not finite makes its whole pixel so: it must not get lost.
    """
    rows, columns = values.shape
    with numpy.errstate(all="ignore"):
        if columns > width:
            values = _means(values, width, axis=1)
        if rows > height:
            values = _means(values, height, axis=0)
    return values


def _means(values: NDArray[Any], num_cells: int, axis: int) -> NDArray[Any]:
    starts = numpy.arange(num_cells + 1) * values.shape[axis] // num_cells
    counts = numpy.diff(starts)
    sums = numpy.add.reduceat(values, starts[:-1], axis=axis)
    means: NDArray[Any] = sums / (counts if axis == 1 else counts[:, None]).astype(values.dtype)
    return means


def enlarged(cells: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Each cell over the pixels that it covers; nothing is blurred."""
    rows, columns = cells.shape
    if (rows, columns) == (height, width):
        return cells
    down = (numpy.arange(height) * 2 + 1) * rows // (2 * height)
    across = (numpy.arange(width) * 2 + 1) * columns // (2 * width)
    large: NDArray[Any] = cells[:, across][down]
    return large
