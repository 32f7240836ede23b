/** A tensor as a little picture: its units on the grid that its layer has in the network, one pixel each. */
import { gridOf, plateSize, unitAt } from "../../netview/grids";
import { paintValues, placeOn, type Palette, type Scale } from "../../tensor/colour";
import type { Grid, NetLayer, NetScene } from "../../wire";
import { sizeOf } from "./cellblocks";

/** Pixels along a side: of larger ones every so many rows and columns one is painted. */
const MOST_PIXELS = 128;
/** Of a cell of the grid, in the page. */
const LARGEST_CELL = 8;

const OUTPUT = "Output";

type Net = Pick<NetScene, "layers" | "connections">;

export interface CellPicture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** The grid of the layer of this name, where there is one of this size; else that which its shape has by itself. */
export function gridFor(name: string, shape: readonly number[], scene: Net | null): Grid {
  const numUnits = sizeOf(shape);
  const layer = layerOf(name, scene);
  if (layer?.grid.num_units === numUnits) return layer.grid;
  const isPicture = name.toLowerCase() === "input" || layer?.is_input === true;
  const key = `${isPicture} ${shape.join()}`;
  const known = grids.get(key) ?? gridOf(shape, isPicture);
  grids.set(key, known);
  return known;
}

/** What the model returns is called Output, whatever the layer that gives it. */
function layerOf(name: string, scene: Net | null): NetLayer | undefined {
  const found = scene?.layers.find((one) => one.name === name);
  if (found !== undefined || name !== OUTPUT) return found;
  const sources = new Set(scene?.connections.map(({ source }) => source));
  return scene?.layers.findLast((one) => !one.is_input && !sources.has(one.name));
}

/** The same object each time: what is drawn on it is not drawn anew. */
const grids = new Map<string, Grid>();

/** Its size in the page: as large as there is room, and whole pixels for each unit where they are few. */
export function shownSize(grid: Grid, room: { width: number; height: number }): { width: number; height: number } {
  const { columns, rows } = plateSize(grid);
  const fit = Math.min(room.width / columns, room.height / rows, LARGEST_CELL);
  const cell = fit >= 1 ? Math.floor(fit) : fit;
  return { width: Math.max(1, Math.round(columns * cell)), height: Math.max(1, Math.round(rows * cell)) };
}

export function paintCell(values: Float32Array, grid: Grid, scale: Scale, palette: Palette): CellPicture {
  const { columns, rows } = plateSize(grid);
  const every = Math.max(1, Math.ceil(Math.max(columns, rows) / MOST_PIXELS));
  const [width, height] = [Math.ceil(columns / every), Math.ceil(rows / every)];
  const units = Array.from({ length: width * height }, (_, at) =>
    unitAt(grid, { column: (at % width) * every, row: Math.floor(at / width) * every }),
  );
  const pixels = grid.is_colour
    ? paintColour(values, grid, units, scale)
    : paintValues(Float32Array.from(units, (unit) => values[unit ?? 0] ?? NaN), 0, width, height, scale, palette);
  // Between tiles, and after the last unit, there is nothing.
  units.forEach((unit, at) => {
    if (unit === null) pixels[4 * at + 3] = 0;
  });
  return { width, height, pixels };
}

/** Three maps, from the darkest to the brightest value of them all. */
function paintColour(
  values: Float32Array,
  grid: Grid,
  units: readonly (number | null)[],
  scale: Scale,
): Uint8ClampedArray<ArrayBuffer> {
  const size = grid.rows * grid.columns;
  const pixels = new Uint8ClampedArray(4 * units.length);
  units.forEach((unit, at) => {
    for (const map of [0, 1, 2]) pixels[4 * at + map] = 255 * placeOn(scale, values[map * size + (unit ?? 0)] ?? 0);
    pixels[4 * at + 3] = 255;
  });
  return pixels;
}
