"""How a shape becomes a grid of units. No torch."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Final

from torcheer.errors import InputError
from torcheer.run import Grid

_ONE_ROW: Final = 16  # units that still stand in one row
_NARROW: Final = 16.0  # a matrix that is so many times as long as wide is folded, a tile for each row
_COLOURS: Final = 3
_MOST_TRIES: Final = 1 << 13  # of numbers of rows: enough for 67 million units


def grid_of(shape: Sequence[int], *, is_picture: bool = False) -> Grid:
    """Of one item. `is_picture`: three maps are red, green and blue."""
    sizes = [int(size) for size in shape]
    if is_picture and len(sizes) == 3 and sizes[0] == _COLOURS:
        return Grid(
            num_units=math.prod(sizes),
            tiles_across=1,
            tiles_down=1,
            columns=sizes[2],
            rows=sizes[1],
            gap=0,
            is_colour=True,
        )
    sizes = [size for size in sizes if size != 1]
    if 0 in sizes:
        return Grid(num_units=0, tiles_across=1, tiles_down=1, columns=1, rows=1, gap=0)
    if len(sizes) <= 1:
        num_units = sizes[0] if sizes else 1
        rows, columns = near_square(num_units)
        return _tiled(num_units, 1, rows, columns)
    *front, rows, columns = sizes
    num_tiles = math.prod(front)
    if num_tiles == 1 and _is_narrow(rows, columns):
        inner = near_square(columns)
        if inner[0] * inner[1] == columns:  # else the numbers of units would not run on from tile to tile
            return _tiled(rows * columns, rows, *inner)
    return _tiled(math.prod(sizes), num_tiles, rows, columns)


def manual_grid(shape: Sequence[int], wanted: Sequence[int]) -> Grid:
    """As somebody wants it: rows and columns, or tiles down and across and the rows and columns of each."""
    num_units = math.prod(int(size) for size in shape)
    try:
        sizes = [operator.index(size) for size in wanted]
    except TypeError:
        raise InputError(
            f"the shape {wanted!r} is no row of whole numbers: give rows and columns, or tiles down, tiles "
            "across, rows and columns of a tile."
        ) from None
    if len(sizes) not in (2, 4) or min(sizes) < 1 or math.prod(sizes) < num_units:
        raise InputError(
            f"the shape {tuple(wanted)} has no room for {num_units:,} units: give rows and columns, or tiles "
            "down, tiles across, rows and columns of a tile."
        )
    down, across, rows, columns = [1, 1, *sizes][-4:]
    gap = _gap(rows, columns) if down * across > 1 else 0
    return Grid(
        num_units=num_units, tiles_across=across, tiles_down=down, columns=columns, rows=rows, gap=gap
    )


def near_square(num_units: int) -> tuple[int, int]:
    """Rows and columns, as even as they can be; a few units stand in one row."""
    if num_units <= _ONE_ROW:
        return 1, max(num_units, 1)
    root = math.isqrt(num_units)
    for rows in range(root, max(1, root // 2, root - _MOST_TRIES), -1):
        if num_units % rows == 0:
            return rows, num_units // rows
    columns = math.isqrt(num_units - 1) + 1
    return -(-num_units // columns), columns


def plate_size(grid: Grid) -> tuple[int, int]:
    """Cells across and down, gaps among them."""
    across = grid.tiles_across * grid.columns + (grid.tiles_across - 1) * grid.gap
    down = grid.tiles_down * grid.rows + (grid.tiles_down - 1) * grid.gap
    return across, down


def cell_of(grid: Grid, unit: int) -> tuple[int, int]:
    """Column and row of a unit on its plate."""
    in_tile = grid.rows * grid.columns
    tile, inside = divmod(unit % in_tile if grid.is_colour else unit, in_tile)
    row, column = divmod(inside, grid.columns)
    down, across = divmod(tile, grid.tiles_across)
    return across * (grid.columns + grid.gap) + column, down * (grid.rows + grid.gap) + row


def _is_narrow(rows: int, columns: int) -> bool:
    return columns > _NARROW * rows and rows > 1


def _tiled(num_units: int, num_tiles: int, rows: int, columns: int) -> Grid:
    """Tiles side by side, so that all of them together are about as wide as high."""
    across = 1
    if num_tiles > 1:
        even = math.sqrt(num_tiles * rows / columns)
        either = [min(max(count, 1), num_tiles) for count in (math.floor(even), math.ceil(even))]
        across = min(either, key=lambda count: abs(math.log(count / even)))
        # Where a number nearby leaves no tile empty, it is taken.
        nearby = range(across, min(num_tiles, across + across // 3) + 1)
        across = next((count for count in nearby if num_tiles % count == 0), across)
    return Grid(
        num_units=num_units,
        tiles_across=across,
        tiles_down=-(-num_tiles // across),
        columns=columns,
        rows=rows,
        gap=_gap(rows, columns) if num_tiles > 1 else 0,
    )


def _gap(rows: int, columns: int) -> int:
    return max(1, round(max(rows, columns) / 16))
