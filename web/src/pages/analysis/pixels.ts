/** A matrix of items as pixels, and where labels begin in it. */
import { cellOf, plateSize } from "../../stage3d/network/plates";
import { mix } from "../../stage3d/points/colours";
import { type Palette, parseHex, placeOn, readPalette, type Rgb, type Scale } from "../../ui/colour-scale";
import type { Grid } from "../../wire";
import type { Items } from "./items";

/** How alike the items of one layer are: rows and columns are `places`. */
export interface Matrix {
  readonly places: readonly number[];
  readonly values: Float32Array;
}

/** Rows of the matrix in the order of these items; those that it has not are left out. */
export function rowsOf({ places }: Pick<Matrix, "places">, wanted: readonly number[]): number[] {
  const rows = new Map(places.map((place, row) => [place, row]));
  return wanted.map((place) => rows.get(place)).filter((row) => row !== undefined);
}

export function paintMatrix({ places, values }: Matrix, rows: readonly number[], scale: Scale, inks: NumberInks): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * rows.length ** 2);
  for (const [down, row] of rows.entries()) {
    for (const [across, column] of rows.entries()) {
      const value = values[row * places.length + column]!;
      paintNumber(pixels, 4 * (down * rows.length + across), value, scale, inks);
    }
  }
  return pixels;
}

/** Without the diagonal: there every item is like itself. */
export function* pairsOf({ places, values }: Matrix): Generator<number> {
  for (let row = 0; row < places.length; row++) {
    for (let column = 0; column < row; column++) yield values[row * places.length + column]!;
  }
}

export interface Stretch {
  /** Undefined where there are no labels. */
  readonly label: number | undefined;
  readonly from: number;
  readonly count: number;
}

/** Neighbours with the same label. */
export function stretchesOf(order: readonly number[], { label_of: labels }: Pick<Items, "label_of">): Stretch[] {
  const found: { label: number | undefined; from: number; count: number }[] = [];
  for (const [at, place] of order.entries()) {
    const label = labels[place];
    const last = found.at(-1);
    if (last !== undefined && last.label === label) last.count += 1;
    else found.push({ label, from: at, count: 1 });
  }
  return found;
}

// --- Numbers of units as pixels, each where it lies on the plate of its layer.

export interface Plate {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** Between tiles it is clear. */
function emptyPlate(grid: Grid): Plate {
  const { columns: width, rows: height } = plateSize(grid);
  return { width, height, pixels: new Uint8ClampedArray(4 * width * height) };
}

export function paintPlate(grid: Grid, values: ArrayLike<number>, scale: Scale, inks: NumberInks): Plate {
  const plate = emptyPlate(grid);
  for (let unit = 0; unit < numCells(grid, values.length); unit++) {
    const { column, row } = cellOf(grid, unit);
    paintNumber(plate.pixels, 4 * (row * plate.width + column), values[unit]!, scale, inks);
  }
  return plate;
}

/** Of a colour picture, one number for each place: the mean of its three maps is not what is meant, the first is. */
function numCells(grid: Grid, count: number): number {
  return grid.is_colour ? Math.min(count, grid.rows * grid.columns * grid.tiles_across * grid.tiles_down) : count;
}

/** A colour picture, from the darkest to the brightest of its numbers. */
export function paintColours(grid: Grid, values: ArrayLike<number> & Iterable<number>): Plate {
  const plate = emptyPlate(grid);
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const size = grid.rows * grid.columns;
  for (let unit = 0; unit < size; unit++) {
    const { column, row } = cellOf(grid, unit);
    const at = 4 * (row * plate.width + column);
    for (const map of [0, 1, 2]) {
      const value = values[map * size + unit] ?? 0;
      plate.pixels[at + map] = max > min ? (255 * (value - min)) / (max - min) : 128;
    }
    plate.pixels[at + 3] = 255;
  }
  return plate;
}

/** Each unit in a colour of its own. */
export function paintKinds(grid: Grid, kinds: ArrayLike<number>, colours: readonly Rgb[], none: Rgb): Plate {
  const plate = emptyPlate(grid);
  for (let unit = 0; unit < numCells(grid, kinds.length); unit++) {
    const { column, row } = cellOf(grid, unit);
    const ink = colours[kinds[unit]!] ?? none;
    plate.pixels.set([...ink, 255], 4 * (row * plate.width + column));
  }
  return plate;
}

// --- The colours of labels, and of numbers in a picture.

const NUM_COLOURS = 8;
/** Above so many, labels have a place on a ramp: their order can be seen, though not which is which. */
export const MOST_NAMED = 24;
const NUM_STEPS = 10;
const FIRST_STEP = 2; // paler ones vanish in the background

/** After the eight of the theme come the same, paler, and then stronger. */
const MIXED: readonly (string | undefined)[] = [undefined, "--sunken", "--text"];
const SHARE = 0.55;

/** As CSS writes it. Where there is room for shapes, they tell apart what looks alike. */
export function labelColour(label: number | undefined, numLabels: number): string {
  if (label === undefined) return "var(--cat-1)";
  if (numLabels <= MOST_NAMED) {
    const [colour, mixed] = [`var(--cat-${(label % NUM_COLOURS) + 1})`, MIXED[Math.floor(label / NUM_COLOURS)]];
    return mixed === undefined ? colour : `color-mix(in srgb, ${colour} ${100 * SHARE}%, var(${mixed}))`;
  }
  const share = label / (numLabels - 1);
  return `var(--seq-${FIRST_STEP + Math.round(share * (NUM_STEPS - 1 - FIRST_STEP))})`;
}

/** 0 circle, 1 square, 2 triangle. */
export function labelShape(label: number | undefined, numLabels: number): number {
  return label === undefined || numLabels > MOST_NAMED ? 0 : Math.floor(label / NUM_COLOURS);
}

export function readLabelColour(label: number | undefined, numLabels: number): Rgb {
  const [colour, mixed] = (labelColour(label, numLabels).match(/--[\w-]+/g) ?? []).map(readToken);
  return mixed === undefined ? colour! : mix(colour!, mixed, 1 - SHARE);
}

export function readToken(token: string): Rgb {
  return parseHex(getComputedStyle(window.document.documentElement).getPropertyValue(token));
}

/** Everything a picture of numbers needs of the theme. What is not defined is grey: it is no fault. */
export interface NumberInks {
  readonly palette: Palette;
  readonly quiet: Rgb;
}

export function readNumberInks(map: Scale["map"]): NumberInks {
  return { palette: readPalette(map), quiet: readToken("--line-2") };
}

export function paintNumber(pixels: Uint8ClampedArray, at: number, value: number, scale: Scale, inks: NumberInks): void {
  if (Number.isFinite(value)) {
    const from = Math.round(placeOn(scale, value) * 255) * 4;
    for (let part = 0; part < 3; part++) pixels[at + part] = inks.palette.ramp[from + part]!;
  } else {
    const ink = Number.isNaN(value) ? inks.quiet : inks.palette.danger;
    for (let part = 0; part < 3; part++) pixels[at + part] = ink[part]!;
  }
  pixels[at + 3] = 255;
}

/** The finite ones among some numbers; null where there are none. */
export function rangeOf(values: Iterable<number>): { min: number; max: number } | null {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min <= max ? { min, max } : null;
}
