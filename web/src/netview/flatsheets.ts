/** The units of a plate as a small picture, a pixel for each cell: for browsers without WebGL. */
import type { Inks } from "./colours";
import type { PaintedPlate } from "./painter";
import { levelAt } from "./plates";
import { riseOfLevel, tintOfLevel, type Scaling } from "./scaling";
import { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } from "./store";

export interface SheetLook {
  readonly ramp: Uint8ClampedArray;
  readonly inks: Inks;
  readonly fading: number;
  readonly isOfUnit: boolean;
}

export interface Sheet {
  readonly canvas: OffscreenCanvas;
  /** Some of its cells hold no number. */
  readonly hasCodes: boolean;
  /** Of what it was made, to know when it is still right. */
  readonly levels: Uint16Array;
  readonly made: readonly unknown[];
}

type Painted = Pick<PaintedPlate, "plate" | "colourRange">;

/** The one of before where nothing has changed; null where the browser refuses a canvas of this size. */
export function sheetOf(
  painted: Painted,
  levels: Uint16Array,
  scaling: Scaling,
  look: SheetLook,
  before: Sheet | undefined,
): Sheet | null {
  const parts: readonly (readonly unknown[])[] = [painted.colourRange, Object.values(scaling), Object.values(look)];
  const made = [painted.plate.cells, ...parts.flat()];
  if (before?.levels === levels && before.made.every((part, at) => part === made[at])) return before;
  const { columns, rows } = painted.plate.cells;
  const canvas = new OffscreenCanvas(columns, rows);
  const context = canvas.getContext("2d");
  if (context === null) return null;
  const { pixels, hasCodes } = pixelsOf(painted, levels, scaling, look);
  context.putImageData(new ImageData(pixels, columns, rows), 0, 0);
  return { canvas, hasCodes, levels, made };
}

/** Four bytes for each cell; nothing between tiles. */
export function pixelsOf(
  { plate, colourRange: [slope, start] }: Painted,
  levels: Uint16Array,
  scaling: Scaling,
  { ramp, inks, fading, isOfUnit }: SheetLook,
): { readonly pixels: Uint8ClampedArray<ArrayBuffer>; readonly hasCodes: boolean } {
  const { columns, rows, colourStride } = plate.cells;
  const pixels = new Uint8ClampedArray(columns * rows * 4);
  let hasCodes = false;
  for (let at = 0; at < columns * rows; at++) {
    const index = levelAt(plate.cells, at % columns, Math.floor(at / columns));
    if (index < 0) continue;
    const level = levels[index]!;
    const [green, blue] = colourStride > 0 ? [levels[index + colourStride]!, levels[index + 2 * colourStride]!] : [0, 0];
    const worst = Math.max(level, green, blue);
    if (worst > LEVELS) {
      hasCodes = true;
      pixels.set(codePixel(worst, inks, isOfUnit), at * 4);
    } else if (colourStride > 0) {
      pixels[at * 4] = 255 * (level * slope + start);
      pixels[at * 4 + 1] = 255 * (green * slope + start);
      pixels[at * 4 + 2] = 255 * (blue * slope + start);
      pixels[at * 4 + 3] = 255;
    } else {
      const step = Math.round((tintOfLevel(scaling, level) ?? 0) * 255) * 4;
      for (let part = 0; part < 3; part++) pixels[at * 4 + part] = ramp[step + part]!;
      pixels[at * 4 + 3] = fading === 0 ? 255 : 255 * (1 - fading * (1 - riseOfLevel(scaling, level)));
    }
  }
  return { pixels, hasCodes };
}

/** As one colour, where cells are too small for a hatch. */
function codePixel(level: number, { danger, faint }: Inks, isOfUnit: boolean): readonly number[] {
  if (level === PLUS_INFINITY || level === MINUS_INFINITY || level === NOT_A_NUMBER) return [...danger, 255];
  return [...faint, level === NOT_THERE && isOfUnit ? 30 : 66];
}
