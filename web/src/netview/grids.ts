/** How a shape becomes a grid, and where the units of a layer lie on its plate; the same as netview/grids.py. */
import type { Grid } from "../wire";

/** Units that still stand in one row. */
const ONE_ROW = 16;
/** A matrix that is so many times as long as wide is folded, a tile for each row. */
const NARROW = 16;
const COLOURS = 3;
const MOST_TRIES = 1 << 13;

/** Of one item. `isPicture`: three maps are red, green and blue. */
export function gridOf(shape: readonly number[], isPicture = false): Grid {
  const [maps, height, width] = shape;
  if (isPicture && shape.length === 3 && maps === COLOURS) {
    return { num_units: COLOURS * height! * width!, tiles_across: 1, tiles_down: 1, columns: width!, rows: height!, gap: 0, is_colour: true };
  }
  const sizes = shape.filter((size) => size !== 1);
  if (sizes.includes(0)) return { num_units: 0, tiles_across: 1, tiles_down: 1, columns: 1, rows: 1, gap: 0, is_colour: false };
  if (sizes.length <= 1) {
    const count = sizes[0] ?? 1;
    return tiled(count, 1, ...nearSquare(count));
  }
  const [rows, columns] = [sizes.at(-2)!, sizes.at(-1)!];
  const numTiles = sizes.slice(0, -2).reduce((product, size) => product * size, 1);
  if (numTiles === 1 && columns > NARROW * rows) {
    const [inRows, inColumns] = nearSquare(columns);
    // Else the numbers of units would not run on from tile to tile.
    if (inRows * inColumns === columns) return tiled(rows * columns, rows, inRows, inColumns);
  }
  return tiled(numTiles * rows * columns, numTiles, rows, columns);
}

/** Rows and columns, as even as they can be; a few units stand in one row. */
export function nearSquare(count: number): [rows: number, columns: number] {
  if (count <= ONE_ROW) return [1, Math.max(count, 1)];
  const root = Math.floor(Math.sqrt(count));
  for (let rows = root; rows > Math.max(1, Math.floor(root / 2), root - MOST_TRIES); rows--) {
    if (count % rows === 0) return [rows, count / rows];
  }
  const columns = Math.floor(Math.sqrt(count - 1)) + 1;
  return [Math.ceil(count / columns), columns];
}

/** Tiles side by side, so that all of them together are about as wide as high. */
function tiled(numUnits: number, numTiles: number, rows: number, columns: number): Grid {
  let across = 1;
  if (numTiles > 1) {
    const even = Math.sqrt((numTiles * rows) / columns);
    const [fewer, more] = [Math.floor(even), Math.ceil(even)].map((count) => Math.min(Math.max(count, 1), numTiles)) as [number, number];
    across = Math.abs(Math.log(more / even)) < Math.abs(Math.log(fewer / even)) ? more : fewer;
    // Where a number nearby leaves no tile empty, it is taken.
    for (let count = across; count <= Math.min(numTiles, across + Math.floor(across / 3)); count++) {
      if (numTiles % count !== 0) continue;
      across = count;
      break;
    }
  }
  const gap = numTiles > 1 ? Math.max(1, halfToEven(Math.max(rows, columns) / 16)) : 0;
  return { num_units: numUnits, tiles_across: across, tiles_down: Math.ceil(numTiles / across), columns, rows, gap, is_colour: false };
}

/** As Python rounds. */
function halfToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

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
