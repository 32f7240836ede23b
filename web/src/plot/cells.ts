/** Cells of a map as pixels of the screen: colours of a ramp, and hatches for what is no number or was not recorded. */
import { placeOn, readPalette, type Rgb, type Scale, themeColours } from "../ui/colour-scale";

export interface Inks {
  /** 256 colours each, four bytes a colour. */
  readonly seq: Uint8ClampedArray;
  readonly div: Uint8ClampedArray;
  readonly danger: Rgb;
  readonly dangerWeak: Rgb;
  readonly surface: Rgb;
  readonly missing: Rgb;
}

export function readInks(): Inks {
  const { ramp: seq, danger, surface, none: missing } = readPalette("seq");
  return { seq, div: readPalette("div").ramp, danger, dangerWeak: themeColours()("--danger-weak"), surface, missing };
}

export type CellKind = "value" | "nan" | "inf" | "missing";

export interface Cells {
  readonly numColumns: number;
  /** [row][column]; NaN where nothing is known. */
  readonly values: ArrayLike<number>;
  readonly kindOf: (at: number) => CellKind;
}

export interface Band {
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
const HATCHES = [null, { pitch: 4, line: 2 }, { pitch: 6, line: 1 }] as const;
const HATCH_OF: Record<CellKind, 0 | 1 | 2> = { value: 0, inf: 0, nan: 1, missing: 2 };

/** Paint rows of cells; `columns` says which column each column of pixels shows, -1 for none. */
export function paintCells(
  picture: Picture,
  cells: Cells,
  bands: readonly Band[],
  columns: Int32Array,
  inks: Inks,
): void {
  const line = new Uint8ClampedArray(4 * picture.width);
  const hatched = new Uint8Array(picture.width);
  for (const band of bands) {
    fillLine(line, hatched, cells, band, columns, inks);
    const [from, to] = [Math.max(0, band.top), Math.min(picture.height, band.top + band.height)];
    for (let y = from; y < to; y++) {
      picture.data.set(line, 4 * y * picture.width);
      hatchLine(picture, hatched, y, inks);
    }
  }
}

function fillLine(
  line: Uint8ClampedArray,
  hatched: Uint8Array,
  cells: Cells,
  { row, scale }: Band,
  columns: Int32Array,
  inks: Inks,
): void {
  const ramp = inks[scale.map];
  const base = row * cells.numColumns;
  for (let x = 0; x < hatched.length; x++) {
    const column = worst(cells, base, columns, x);
    const kind = column < 0 ? "missing" : cells.kindOf(base + column);
    hatched[x] = HATCH_OF[kind];
    if (kind === "value") {
      const at = 4 * Math.round(255 * placeOn(scale, cells.values[base + column]!));
      line.set(ramp.subarray(at, at + 4), 4 * x);
    } else put(line, x, kind === "inf" ? inks.danger : kind === "nan" ? inks.dangerWeak : inks.surface);
  }
}

/** The column of a pixel or, where one beside it has no other pixel and is no number, that one: it must be seen. */
function worst({ kindOf }: Cells, base: number, columns: Int32Array, x: number): number {
  const here = columns[x] ?? -1;
  const before = columns[x - 1] ?? -1;
  for (let column = before + 1; before >= 0 && column < here; column++) {
    if (["nan", "inf"].includes(kindOf(base + column))) return column;
  }
  return here;
}

function hatchLine({ data, width }: Picture, hatched: Uint8Array, y: number, { danger, missing }: Inks): void {
  for (let x = 0; x < width; x++) {
    const hatch = HATCHES[hatched[x] as 0 | 1 | 2];
    if (hatch !== null && (x + y) % hatch.pitch < hatch.line) put(data, y * width + x, hatched[x] === 1 ? danger : missing);
  }
}

function put(data: Uint8ClampedArray, at: number, [red, green, blue]: Rgb): void {
  data[4 * at] = red;
  data[4 * at + 1] = green;
  data[4 * at + 2] = blue;
  data[4 * at + 3] = 255;
}
