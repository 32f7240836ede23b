"""Where the page draws a unit of a layer."""

from torcheer.run import Grid


def cell_of(grid: Grid, unit: int) -> tuple[int, int]:
    """Column and row of a unit on its plate."""
    in_tile = grid.rows * grid.columns
    tile, inside = divmod(unit % in_tile if grid.is_colour else unit, in_tile)
    row, column = divmod(inside, grid.columns)
    down, across = divmod(tile, grid.tiles_across)
    return across * (grid.columns + grid.gap) + column, down * (grid.rows + grid.gap) + row
