/** Where the units of a layer lie on its plate; the same as netview/grids.py. */
import type { Grid } from "../wire";

export interface Cell {
  readonly column: number;
  readonly row: number;
}

/** Cells across and down, gaps among them. */
export function plateSize(grid: Grid): { columns: number; rows: number } {
  return {
    columns: grid.tiles_across * grid.columns + (grid.tiles_across - 1) * grid.gap,
    rows: grid.tiles_down * grid.rows + (grid.tiles_down - 1) * grid.gap,
  };
}

export function cellOf(grid: Grid, unit: number): Cell {
  const inTile = grid.rows * grid.columns;
  const place = grid.is_colour ? unit % inTile : unit;
  const tile = Math.floor(place / inTile);
  const inside = place % inTile;
  const across = tile % grid.tiles_across;
  const down = Math.floor(tile / grid.tiles_across);
  return {
    column: across * (grid.columns + grid.gap) + (inside % grid.columns),
    row: down * (grid.rows + grid.gap) + Math.floor(inside / grid.columns),
  };
}

/** The unit in a cell; of a colour picture, that of its first map. Null between tiles, and beyond. */
export function unitAt(grid: Grid, { column, row }: Cell): number | null {
  const size = plateSize(grid);
  if (column < 0 || row < 0 || column >= size.columns || row >= size.rows) return null;
  const x = column % (grid.columns + grid.gap);
  const y = row % (grid.rows + grid.gap);
  if (x >= grid.columns || y >= grid.rows) return null;
  const across = Math.floor(column / (grid.columns + grid.gap));
  const down = Math.floor(row / (grid.rows + grid.gap));
  const unit = ((down * grid.tiles_across + across) * grid.rows + y) * grid.columns + x;
  return unit < grid.num_units ? unit : null;
}
