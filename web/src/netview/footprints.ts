/** How large plates are, and how far apart they stand. */
import { formatShape } from "../format";
import type { NetLayer } from "../wire";
import { MOST_NAME, NAME_CLEAR } from "./labels";
import { cellsOf, rasterCells, type Cells } from "./plates";

/** How large a plate is, before it has a place. */
export interface Footprint {
  readonly layer: NetLayer;
  readonly cells: Cells;
  readonly isRaster: boolean;
  /** Of all cells. */
  readonly width: number;
  readonly depth: number;
  readonly height: number;
  readonly margin: number;
}

/** The side of a plate grows so slowly that ten units and a picture of 224×224 can both be read. */
const GROWTH = 0.2;
const LARGEST_CELL = 0.25;
/** No side is less than this share of the other: a unit would be a line. */
const NARROWEST = 0.06;
export const BESIDE = 0.3;
const RASTER_WIDTH = 2.4;
/** A letter of a name, on average, in pixels. */
const LETTER = 6.8;

/** Distances between plates: with depth, as seen from a little above, or flat. */
const SPACE = {
  deep: { lean: 0.66, above: 0.24, columns: 0.95 },
  flat: { lean: 1, above: 0.34, columns: 0.4 },
} as const;

export function footprintOf(layer: NetLayer, numMoments: number | undefined): Footprint {
  const isRaster = numMoments !== undefined;
  const cells = isRaster ? rasterCells(layer.grid.num_units, numMoments) : cellsOf(layer.grid);
  const scale = positive(layer.place.scale);
  const longest = Math.max(cells.columns, cells.rows);
  const side = sideOf(isRaster ? cells.rows : longest) * scale;
  const cell = side / longest;
  const width = isRaster ? RASTER_WIDTH * scale : Math.max(cells.columns * cell, NARROWEST * side);
  const depth = isRaster ? side : Math.max(cells.rows * cell, NARROWEST * side);
  return {
    layer,
    cells,
    isRaster,
    width,
    depth,
    height: Math.max(Math.min(width / cells.columns, depth / cells.rows), 0.028 * side),
    margin: 0.04 * side + 0.03,
  };
}

function sideOf(numCells: number): number {
  return Math.min(numCells * LARGEST_CELL, numCells ** GROWTH);
}

function positive(scale: number): number {
  return Number.isFinite(scale) && scale > 0 ? scale : 1;
}

export function fullWidth({ width, margin }: Footprint): number {
  return width + 2 * margin;
}

export function fullDepth({ depth, margin }: Footprint): number {
  return depth + 2 * margin;
}

/** From one plate up to the next, such that neither hides the other. */
export function riseOf(
  below: { readonly depth: number; readonly height: number },
  aboveDepth: number,
  isFlat: boolean,
): number {
  const space = isFlat ? SPACE.flat : SPACE.deep;
  return (space.lean * (below.depth + aboveDepth)) / 2 + space.above + (isFlat ? 0 : below.height);
}

/** Between two columns: room for arrows. That for names comes to it. */
export function betweenColumns(isFlat: boolean): number {
  return (isFlat ? SPACE.flat : SPACE.deep).columns;
}

/** About as wide as what is written beside a plate, in pixels. */
export function namePixels(layer: NetLayer): number {
  const longest = Math.max(layer.name.length, formatShape(layer.shape).length);
  return Math.min(MOST_NAME, longest * LETTER) + NAME_CLEAR;
}
