/** Small pictures of the items of a batch: what the input layer received of each. */
import { useMemo } from "preact/hooks";
import { blocksOf } from "../../data/network/feeds";
import { rank, runId } from "../../data/network/moments";
import { type PlateValues, valueOf } from "../../data/network/store";
import { askOf } from "../../data/requests";
import type { Asked } from "../../data/source";
import * as page from "../../data/store";
import { useAsked } from "../../data/useAsked";
import type { Picture } from "../../ui/Pixels";
import { paintValues, type Palette, placeOn, readPalette, type Scale } from "../../ui/colour-scale";
import type { Grid, NetLayer } from "../../wire";
import { plateSize, unitAt } from "./plates";

/** Pixels along its longer side. */
const MAX_SIDE = 64;
const MAX_SHAPE = 4096;

export function pictureLayer(layers: readonly NetLayer[]): NetLayer | null {
  const inputs = layers.filter(({ is_input }) => is_input);
  const first = inputs.length > 0 ? inputs : layers.slice(0, 1);
  return first.find(isPicture) ?? null;
}

function isPicture({ grid, shape, has_items, variables }: NetLayer): boolean {
  const isOne = grid.tiles_across === 1 && grid.tiles_down === 1 && grid.rows > 2 && grid.columns > 2;
  const isInRange = grid.rows <= MAX_SHAPE && grid.columns <= MAX_SHAPE;
  // A vector that was folded into a near-square is no picture.
  const numDims = shape.filter((size) => size > 1).length;
  return isOne && isInRange && has_items && numDims >= 2 && variables.includes("Act");
}

/** The picture of before stays until the next has come. Null where nothing was recorded. */
export function useItemPicture(layer: NetLayer | null, step: number | null, item: number): Picture | null {
  const key = JSON.stringify([runId.value, rank.value, step, item, layer?.name]);
  const isWanted = layer !== null && step !== null;
  const { value } = useAsked(isWanted ? { key, version: "", ask: () => askPicture(layer, step, item) } : null);
  const tick = page.themeTick.value;
  return useMemo(() => {
    return layer === null || value === null ? null : paintThumbnail(layer.grid, value, readPalette("seq"));
  }, [value, tick]);
}

async function askPicture({ name }: NetLayer, step: number, item: number): Promise<PlateValues | null> {
  const [run_id, itsRank] = [runId.peek(), rank.peek()];
  const asked: Asked = { type: "net_values", run_id, rank: itsRank, step, variable: "Act", item, layers: [name] };
  const reply = await askOf(asked, "net_values");
  const block = blocksOf(reply, reply.answer.blocks).get(name);
  return block === undefined || block.levels.length === 0 ? null : block;
}

export function paintThumbnail(grid: Grid, block: PlateValues, palette: Palette): Picture {
  const scale = { map: "seq", low: block.low, high: block.high } as const;
  return paintUnits((unit) => valueOf(block, unit) ?? Number.NaN, grid, scale, palette, MAX_SIDE);
}

/** Units on their grid, one pixel each; of a larger one every so many rows and columns. */
export function paintUnits(
  valueAt: (unit: number) => number,
  grid: Grid,
  scale: Scale,
  palette: Palette,
  mostPixels: number,
): Picture {
  const { columns, rows } = plateSize(grid);
  const every = Math.max(1, Math.ceil(Math.max(columns, rows) / mostPixels));
  const [width, height] = [Math.ceil(columns / every), Math.ceil(rows / every)];
  const units = Array.from({ length: width * height }, (_, at) =>
    unitAt(grid, { column: (at % width) * every, row: Math.floor(at / width) * every }),
  );
  const pixels = grid.is_colour
    ? paintColour(valueAt, grid, units, scale)
    : paintValues(Float64Array.from(units, (unit) => valueAt(unit ?? 0)), 0, width, height, scale, palette);
  // Between tiles, and after the last unit, there is nothing.
  units.forEach((unit, at) => {
    if (unit === null) pixels[4 * at + 3] = 0;
  });
  return { width, height, pixels };
}

/** Three maps, from the darkest to the brightest value of them all. */
function paintColour(
  valueAt: (unit: number) => number,
  { rows, columns }: Grid,
  units: readonly (number | null)[],
  scale: Scale,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * units.length).fill(255);
  units.forEach((unit, at) => {
    for (const map of [0, 1, 2]) pixels[4 * at + map] = 255 * placeOn(scale, valueAt(map * rows * columns + (unit ?? 0)));
  });
  return pixels;
}

/** Which items have a place among the small pictures: a page of so many, with the chosen one on it. */
export function pageOf(item: number, numItems: number, size: number): number[] {
  const first = Math.floor(Math.min(item, Math.max(0, numItems - 1)) / size) * size;
  return Array.from({ length: Math.max(0, Math.min(size, numItems - first)) }, (_, at) => first + at);
}
