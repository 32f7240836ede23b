"""What is shown of one tensor: its figures, its histogram, and a window of its values.

The last two dimensions are rows and columns, the one before them counts tiles (the channels of an image), and
all dimensions before that are held at one index, the item. So a window is a few tiles, each a grid of values
that really stand in the tensor: a coarse picture takes every n-th row, it never averages.
"""

from __future__ import annotations

from typing import Literal

from torcheer.graph.document import Entry

TensorKind = Literal["output", "grad", "param", "param_grad"]


class Window(Entry, frozen=True):
    """Which values: item, then tiles, rows and columns as first, step and count."""

    item: list[int]
    first_tile: int
    num_tiles: int
    first_row: int
    row_step: int
    num_rows: int
    first_column: int
    column_step: int
    num_columns: int


class TensorView(Entry, frozen=True):
    """A tensor without its values; those of the window follow as bytes, tile by tile, row by row."""

    shape: list[int]
    dtype: str
    num_elements: int
    mean: float | None  # of the finite values; None where there are none
    std: float | None
    min: float | None
    max: float | None
    num_zeros: int
    num_nan: int
    num_inf: int
    histogram: list[int]
    histogram_low: float
    histogram_high: float
    window: Window
    encoding: Literal["f4", "f8"]  # little-endian floats of four or eight bytes
    note: str  # what a reader must know: "complex numbers: their magnitude is shown"
