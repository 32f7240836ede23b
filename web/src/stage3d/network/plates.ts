/** A plate in space: where its cells are, and which unit lies in each. The shaders count in the same way. */
import { obtain } from "../../data/collections";
import type { Grid, NetLayer } from "../../wire";
import { dot, minus, plus, type Ray, times, type Vector } from "../camera";

/** Cells and the numbers of what lies in them. With strides, so that a plate may also run over time. */
export interface Cells {
  /** All of them, gaps between tiles too. */
  readonly columns: number;
  readonly rows: number;
  readonly tileColumns: number;
  readonly tileRows: number;
  readonly gap: number;
  readonly tilesAcross: number;
  readonly tileStride: number;
  readonly rowStride: number;
  readonly columnStride: number;
  /** Levels that there are; of a colour picture in one of its maps. */
  readonly count: number;
  /** From a level of one map to that of the next, where three make a colour; else 0. */
  readonly colourStride: number;
}

export interface Plate {
  readonly layer: NetLayer;
  readonly cells: Cells;
  /** Runs over time: a column for each moment, a row for each unit. */
  readonly isRaster: boolean;
  /** The outer corner of the first cell. */
  readonly origin: Vector;
  /** One column, one row, the height of the largest value. At right angles, none of them nought. */
  readonly across: Vector;
  readonly down: Vector;
  readonly up: Vector;
  /** Of the plate around its cells, as a length. */
  readonly margin: number;
}

const known = new WeakMap<Grid, Cells>();

export function cellsOf(grid: Grid): Cells {
  return obtain(known, grid, () => {
    const inTile = grid.rows * grid.columns;
    return {
      columns: Math.max(1, grid.tiles_across * grid.columns + (grid.tiles_across - 1) * grid.gap),
      rows: Math.max(1, grid.tiles_down * grid.rows + (grid.tiles_down - 1) * grid.gap),
      tileColumns: grid.columns,
      tileRows: grid.rows,
      gap: grid.gap,
      tilesAcross: grid.tiles_across,
      tileStride: inTile,
      rowStride: grid.columns,
      columnStride: 1,
      count: grid.is_colour ? inTile : grid.num_units,
      colourStride: grid.is_colour ? inTile : 0,
    };
  });
}

/** Time to the right, units downwards. */
export function rasterCells(numUnits: number, numMoments: number): Cells {
  const [columns, rows] = [Math.max(1, numMoments), Math.max(1, numUnits)];
  return {
    columns,
    rows,
    tileColumns: columns,
    tileRows: rows,
    gap: 0,
    tilesAcross: 1,
    tileStride: 0,
    rowStride: 1,
    columnStride: rows,
    count: numUnits * numMoments,
    colourStride: 0,
  };
}

/** The number of the level in a cell; −1 between tiles, and beyond. */
export function levelAt(cells: Cells, column: number, row: number): number {
  if (column < 0 || row < 0 || column >= cells.columns || row >= cells.rows) return -1;
  const [wide, high] = [cells.tileColumns + cells.gap, cells.tileRows + cells.gap];
  const [tileX, tileY] = [Math.floor(column / wide), Math.floor(row / high)];
  const [x, y] = [column - tileX * wide, row - tileY * high];
  if (x >= cells.tileColumns || y >= cells.tileRows) return -1;
  const tile = tileY * cells.tilesAcross + tileX;
  const at = tile * cells.tileStride + y * cells.rowStride + x * cells.columnStride;
  return at < cells.count ? at : -1;
}

/** The cell of a unit; over time that of a moment, or else of the last. */
export function cellOfUnit({ cells, isRaster }: Plate, unit: number, moment = Infinity): Cell {
  if (isRaster) return { column: Math.min(moment, cells.columns - 1), row: Math.min(unit, cells.rows - 1) };
  return cellIn(cells, unit);
}

function cellIn(cells: Cells, unit: number): Cell {
  const place = cells.colourStride > 0 ? unit % cells.colourStride : unit;
  const tile = Math.floor(place / cells.tileStride);
  const inside = place % cells.tileStride;
  return {
    column: (tile % cells.tilesAcross) * (cells.tileColumns + cells.gap) + (inside % cells.tileColumns),
    row: Math.floor(tile / cells.tilesAcross) * (cells.tileRows + cells.gap) + Math.floor(inside / cells.tileColumns),
  };
}

/** From columns, rows and heights to space. */
export function inSpace({ origin, across, down, up }: Plate, column: number, row: number, height: number): Vector {
  return plus(plus(origin, times(across, column)), plus(times(down, row), times(up, height)));
}

/** From space to columns, rows and heights. */
export function onPlate({ origin, across, down, up }: Plate, place: Vector): Vector {
  return alongPlate({ across, down, up }, minus(place, origin));
}

function alongPlate({ across, down, up }: Pick<Plate, "across" | "down" | "up">, way: Vector): Vector {
  return [
    dot(way, across) / dot(across, across),
    dot(way, down) / dot(down, down),
    dot(way, up) / dot(up, up),
  ];
}

export function rayOnPlate(plate: Plate, ray: Ray): Ray {
  return { origin: onPlate(plate, ray.origin), direction: alongPlate(plate, ray.direction) };
}

export function marginsOf({ across, down, margin }: Plate): readonly [columns: number, rows: number] {
  return [margin / Math.hypot(...across), margin / Math.hypot(...down)];
}

/** The corners of the plate, margin and all: back left, back right, front right, front left. */
export function cornersOf(plate: Plate): readonly [Vector, Vector, Vector, Vector] {
  const [byColumns, byRows] = marginsOf(plate);
  const { columns, rows } = plate.cells;
  return [
    inSpace(plate, -byColumns, -byRows, 0),
    inSpace(plate, columns + byColumns, -byRows, 0),
    inSpace(plate, columns + byColumns, rows + byRows, 0),
    inSpace(plate, -byColumns, rows + byRows, 0),
  ];
}

export function middleOf(plate: Plate): Vector {
  return inSpace(plate, plate.cells.columns / 2, plate.cells.rows / 2, 0);
}

/** Its corners, on the floor and as high as it rises. */
export function placesOf(plate: Plate): readonly Vector[] {
  const { columns, rows } = plate.cells;
  const above = [0, columns].flatMap((column) => [0, rows].map((row) => inSpace(plate, column, row, 1)));
  return [...cornersOf(plate), ...above];
}

export function reachOf(plates: readonly Plate[]): number {
  return Math.max(0.5, ...plates.flatMap(placesOf).map((place) => Math.hypot(...place)));
}

interface Cell {
  readonly column: number;
  readonly row: number;
}

export function plateSize(grid: Grid): Pick<Cells, "columns" | "rows"> {
  return cellsOf(grid);
}

export function cellOf(grid: Grid, unit: number): Cell {
  return cellIn(cellsOf(grid), unit);
}

/** The unit in a cell; of a colour picture, that of its first map. Null between tiles, and beyond. */
export function unitAt(grid: Grid, { column, row }: Cell): number | null {
  const unit = levelAt(cellsOf(grid), column, row);
  return unit < 0 ? null : unit;
}
