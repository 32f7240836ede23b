/** Cells of the map as pixels: colours of a ramp, and hatches for what is no number or was not recorded. */
import { placeOn, type Rgb, type Scale } from "../../ui/colour-scale";
import { HAS_INF, HAS_NAN, numBuckets, type WatchedGrid } from "./grid";

export interface Inks {
  /** 256 colours each, four bytes a colour. */
  readonly seq: Uint8ClampedArray;
  readonly div: Uint8ClampedArray;
  readonly danger: Rgb;
  readonly dangerWeak: Rgb;
  readonly surface: Rgb;
  readonly missing: Rgb;
}

/** A row of cells, in pixels of the picture. */
export interface Band {
  /** Its place in the grid. */
  readonly row: number;
  readonly top: number;
  readonly height: number;
  readonly scale: Scale;
}

/** The pixels of a picture, four bytes each. */
export interface Picture {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** Pixels from one line of a hatch to the next, and how broad it is. That of NaN is seen also in a narrow cell. */
const NAN_HATCH = { pitch: 4, line: 2 };
const MISSING_HATCH = { pitch: 6, line: 1 };

/** What a pixel of a cell shows. */
type Kind = "value" | "nan" | "inf" | "missing";

export function kindOf(value: number, marks: number): Kind {
  if ((marks & HAS_NAN) !== 0) return "nan";
  if ((marks & HAS_INF) !== 0 || value === Infinity || value === -Infinity) return "inf";
  return Number.isNaN(value) ? "missing" : "value";
}

/** Paint rows of cells; `pixels` says which bucket each column of pixels shows, -1 for none. */
export function paintCells(
  picture: Picture,
  grid: WatchedGrid,
  bands: readonly Band[],
  pixels: Int32Array,
  inks: Inks,
): void {
  const line = new Uint8ClampedArray(4 * picture.width);
  const hatched = new Uint8Array(picture.width);
  for (const band of bands) {
    fillLine(line, hatched, grid, band, pixels, inks);
    const [from, to] = [Math.max(0, band.top), Math.min(picture.height, band.top + band.height)];
    for (let y = from; y < to; y++) {
      picture.data.set(line, 4 * y * picture.width);
      hatchLine(picture, hatched, y, inks);
    }
  }
}

const HATCH: Record<Kind, number> = { value: 0, inf: 0, nan: 1, missing: 2 };

function fillLine(
  line: Uint8ClampedArray,
  hatched: Uint8Array,
  grid: WatchedGrid,
  { row, scale }: Band,
  pixels: Int32Array,
  inks: Inks,
): void {
  const ramp = inks[scale.map];
  const base = row * numBuckets(grid);
  for (let x = 0; x < hatched.length; x++) {
    const bucket = worst(grid, base, pixels, x);
    const value = bucket < 0 ? NaN : grid.values[base + bucket]!;
    const kind = kindOf(value, bucket < 0 ? 0 : grid.marks[base + bucket]!);
    hatched[x] = HATCH[kind];
    if (kind === "value") {
      const at = 4 * Math.round(255 * placeOn(scale, value));
      line.set(ramp.subarray(at, at + 4), 4 * x);
    } else put(line, x, kind === "inf" ? inks.danger : kind === "nan" ? inks.dangerWeak : inks.surface);
  }
}

/** The bucket of a pixel or, where one beside it has no other pixel and is no number, that one: it must be seen. */
function worst(grid: WatchedGrid, base: number, pixels: Int32Array, x: number): number {
  const here = pixels[x] ?? -1;
  const before = pixels[x - 1] ?? -1;
  for (let bucket = before + 1; before >= 0 && bucket < here; bucket++) {
    if ((grid.marks[base + bucket]! & (HAS_NAN | HAS_INF)) !== 0) return bucket;
  }
  return here;
}

function hatchLine({ data, width }: Picture, hatched: Uint8Array, y: number, { danger, missing }: Inks): void {
  for (let x = 0; x < width; x++) {
    if (hatched[x] === 0) continue;
    const { pitch, line } = hatched[x] === HATCH.nan ? NAN_HATCH : MISSING_HATCH;
    if ((x + y) % pitch < line) put(data, y * width + x, hatched[x] === HATCH.nan ? danger : missing);
  }
}

function put(data: Uint8ClampedArray, at: number, [red, green, blue]: Rgb): void {
  data[4 * at] = red;
  data[4 * at + 1] = green;
  data[4 * at + 2] = blue;
  data[4 * at + 3] = 255;
}
