"""What is shown of one tensor: its figures, its histogram, and a window of its values.

The last two dimensions are rows and columns, the one before them counts tiles (the channels of an image), and
all dimensions before that are held at one index, the item. So a window is a few tiles, each a grid of values
that really stand in the tensor: a coarse picture takes every n-th row, it never averages.

A matrix is one tile; a vector is one tile of one row, which a page may wrap; a single number is one
row of one column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Literal, NamedTuple

import numpy
from msgspec import Struct

from torcheer.errors import InputError
from torcheer.tensorfile.tensor_figures import Array, Figures, as_numbers, as_real, figures_of

TensorKind = Literal["output", "grad", "param", "param_grad"]

WINDOW_BYTES = 1 << 18  # of the first look at a tensor
MAX_WINDOW_VALUES = 1 << 19  # of any: four megabytes at most
_MAX_TILES = 64  # of a first look; more where they are tiny
_MAX_TINY_VALUES = 1024
_MIN_SIDE = 8


class Window(Struct, frozen=True, kw_only=True, gc=False):
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


class TensorView(Struct, frozen=True, kw_only=True, gc=False):
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


class Grid(NamedTuple):
    """A shape as tiles of rows and columns."""

    items: tuple[int, ...]
    tiles: int
    rows: int
    columns: int


def grid_of(shape: Sequence[int]) -> Grid:
    tiles, rows, columns = (1, 1, 1, *shape)[-3:]
    return Grid(tuple(shape[:-3]), tiles, rows, columns)


# --- windows -----------------------------------------------------------------------------------------


def default_window(shape: Sequence[int], budget_bytes: int = WINDOW_BYTES, *, item_bytes: int = 4) -> Window:
    """A look that fits: all of the first item, else fewer tiles, and every n-th row and column of them."""
    grid = grid_of(shape)
    if 0 in shape:
        return _window(grid, 0, 1, 0, 1, 0)
    budget = max(1, min(budget_bytes // item_bytes, MAX_WINDOW_VALUES))
    area = grid.rows * grid.columns
    if grid.tiles * area <= budget:
        return _window(grid, grid.tiles, 1, grid.rows, 1, grid.columns)
    if grid.tiles == 1 and 1 in (grid.rows, grid.columns):
        # A line of values is shown from its beginning: every n-th of them would be no picture of it.
        return _window(grid, 1, 1, min(grid.rows, budget), 1, min(grid.columns, budget))
    most = max(_MAX_TILES, _MAX_TINY_VALUES // area)
    num_tiles = max(1, min(grid.tiles, most, budget // min(area, _MIN_SIDE * _MIN_SIDE)))
    row_step, column_step = _steps(grid.rows, grid.columns, budget // num_tiles)
    num_rows, num_columns = -(-grid.rows // row_step), -(-grid.columns // column_step)
    return _window(grid, num_tiles, row_step, num_rows, column_step, num_columns)


def _window(
    grid: Grid, num_tiles: int, row_step: int, num_rows: int, column_step: int, num_columns: int
) -> Window:
    return Window(
        item=[0] * len(grid.items),
        first_tile=0,
        num_tiles=num_tiles,
        first_row=0,
        row_step=row_step,
        num_rows=num_rows,
        first_column=0,
        column_step=column_step,
        num_columns=num_columns,
    )


def _steps(rows: int, columns: int, budget: int) -> tuple[int, int]:
    """Alike for rows and columns, so that a picture keeps its form, unless it is far too long for that."""
    # By halves: a shape may come from anybody, and be of any size.
    step, too_small = max(rows, columns), 0
    while step - too_small > 1:
        middle = (step + too_small) // 2
        if -(-rows // middle) * -(-columns // middle) > budget:
            too_small = middle
        else:
            step = middle
    least = min(_MIN_SIDE, rows, columns)
    if min(-(-rows // step), -(-columns // step)) >= least:
        return min(step, rows), min(step, columns)
    side = max(1, math.isqrt(budget))
    if rows <= columns:
        row_step = -(-rows // side)
        return row_step, -(-columns // max(1, budget // -(-rows // row_step)))
    column_step = -(-columns // side)
    return -(-rows // max(1, budget // -(-columns // column_step))), column_step


def num_values(window: Window) -> int:
    return window.num_tiles * window.num_rows * window.num_columns


def check_window(shape: Sequence[int], window: Window) -> None:
    """InputError unless all of the window lies inside the tensor and it is not too much at once.

    Nothing but whole numbers is worked with, however large they are: it may come from anybody.
    """
    grid = grid_of(shape)
    item = window.item
    if len(item) != len(grid.items):
        raise InputError(
            f"the window names {len(item)} indices of an item; this tensor has {len(grid.items)}."
        )
    if not all(0 <= index < max(size, 1) for index, size in zip(item, grid.items, strict=True)):
        raise InputError("the window names an item that the tensor does not have.")
    sides = (
        ("tiles", window.first_tile, 1, window.num_tiles, grid.tiles),
        ("rows", window.first_row, window.row_step, window.num_rows, grid.rows),
        ("columns", window.first_column, window.column_step, window.num_columns, grid.columns),
    )
    for name, first, step, count, size in sides:
        inside = first >= 0 and step >= 1 and count >= 0
        if not inside or (first + (count - 1) * step >= size if count else first > size):
            raise InputError(f"the window reaches outside of the tensor, which has {size} {name}.")
    if num_values(window) > (MAX_WINDOW_VALUES if math.prod(shape) else 0):
        raise InputError(f"the window holds too many values: {MAX_WINDOW_VALUES:,} is the most at a time.")


# --- looking -----------------------------------------------------------------------------------------


def look_at(
    array: Array,
    dtype: str,
    window: Window | None = None,
    *,
    budget_bytes: int = WINDOW_BYTES,
    figures: Figures | None = None,
    note: str = "",
) -> tuple[TensorView, bytes]:
    """A tensor's view, and the values of a window of it: the one given, or one that fits the budget.

    `dtype` is torch's name for the numbers; bfloat16 and float8 are given as integers of their size. Figures
    that are known already need not be found again.
    """
    item_bytes = item_bytes_of(dtype)
    encoding: Literal["f4", "f8"] = "f8" if item_bytes == 8 else "f4"
    shape = list(array.shape)
    if window is None:
        window = default_window(shape, budget_bytes, item_bytes=item_bytes)
    else:
        check_window(shape, window)
    known = figures if figures is not None else figures_of(array, dtype)
    shown = {one.name: getattr(known, one.name) for one in fields(known)}
    shown |= {
        "shape": shape,
        "dtype": dtype,
        "histogram": list(known.histogram),
        "window": window,
        "encoding": encoding,
        "note": "; ".join(filter(None, (note, known.note))),
    }
    view = TensorView(**shown)
    return view, _values(array, dtype, window, encoding)


def item_bytes_of(dtype: str) -> int:
    """How many bytes a value of that type takes in a window: four where they hold every value exactly."""
    return 8 if dtype in ("float64", "int32", "int64", "uint32", "uint64", "complex128", "qint32") else 4


def _values(array: Array, dtype: str, window: Window, encoding: str) -> bytes:
    if not num_values(window):
        return b""
    where: tuple[int | slice, ...] = (
        *window.item,
        _slice(window.first_tile, 1, window.num_tiles),
        _slice(window.first_row, window.row_step, window.num_rows),
        _slice(window.first_column, window.column_step, window.num_columns),
    )
    tiled = array[(None,) * (3 - array.ndim)]
    numbers = as_real(as_numbers(numpy.ascontiguousarray(tiled[where]), dtype))
    return numbers.astype(f"<{encoding}").tobytes()


def _slice(first: int, step: int, count: int) -> slice:
    return slice(first, first + (count - 1) * step + 1, step)
