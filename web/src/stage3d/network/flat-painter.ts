/** Plates on a plain canvas, flat: for browsers without WebGL. */
import { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } from "../../data/network/store";
import { riseOfLevel, type Scaling, tintOfLevel } from "../../data/network/value-ranges";
import { project, type ScreenPlace } from "./camera";
import { cssColour, type Inks } from "./colours";
import { SEGMENT_FLOATS, type Segments } from "./frame";
import type { Frame, PaintedPlate, Painter } from "./painter";
import { cornersOf, inSpace, levelAt, type Plate } from "./plates";

/** Stripes of a hatch, both of them, in pixels. */
const HATCH = 8;
/** In smaller cells a hatch would not be seen as one, in pixels too. */
const HATCHED_CELL = 4;
/** How much of an ink the two stripes have. */
const SHARES = { missing: [0.4, 0.12], notThere: [0.4, 0.12], ofUnit: [0.12, 0.12], noNumber: [1, 0.25] } as const;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Null where there is not even that. */
export function startFlatPainter(canvas: HTMLCanvasElement): Painter | null {
  const context = canvas.getContext("2d", { alpha: false });
  return context === null ? null : new FlatPainter(context);
}

class FlatPainter implements Painter {
  readonly name = "canvas";
  readonly isDeep = false;
  readonly #context: CanvasRenderingContext2D;
  readonly #sheets = new Map<string, Sheet>();
  #ramp: Uint8ClampedArray = new Uint8ClampedArray(1024);

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  setLevels(key: string): void {
    // They come with each frame; what was made of the old ones is of no use.
    this.#sheets.delete(key);
  }

  setRamp(bytes: Uint8ClampedArray): void {
    this.#ramp = bytes;
  }

  paint(frame: Frame): void {
    const context = this.#context;
    context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
    context.fillStyle = cssColour(frame.inks.canvas);
    context.fillRect(0, 0, frame.size.width, frame.size.height);
    for (const plate of frame.plates) {
      this.#drawLines(frame, plate.linesBefore);
      this.#drawPlate(frame, plate);
    }
    this.#drawLines(frame, frame.linesAfter);
  }

  #drawPlate(frame: Frame, painted: PaintedPlate): void {
    const context = this.#context;
    const { plate, isMissing, isWaiting } = painted;
    const { columns, rows } = plate.cells;
    const [from, , to] = cornersOf(plate);
    const around = boxBetween(frame, from, to);
    const cells = boxBetween(frame, inSpace(plate, 0, 0, 0), inSpace(plate, columns, rows, 0));
    if (around === null || cells === null) return;
    context.fillStyle = cssColour(frame.inks.surface);
    context.fillRect(around.x, around.y, around.width, around.height);
    const sheet = this.#sheetOf(frame, painted);
    if (sheet !== null) this.#drawUnits(frame, painted, sheet, cells);
    else if (isMissing || isWaiting) {
      context.fillStyle = isMissing ? this.#hatch(frame, "missing") : cssColour(frame.inks.quiet);
      context.globalAlpha = isMissing ? 1 : 0.5;
      context.fillRect(cells.x, cells.y, cells.width, cells.height);
      context.globalAlpha = 1;
    }
  }

  #drawUnits(frame: Frame, { plate, levels, inset }: PaintedPlate, sheet: Sheet, cells: Box): void {
    const context = this.#context;
    const { columns, rows } = plate.cells;
    const [wide, high] = [cells.width / columns, cells.height / rows];
    context.imageSmoothingEnabled = Math.min(wide, high) < 1;
    context.imageSmoothingQuality = "medium";
    context.drawImage(sheet.canvas, cells.x, cells.y, cells.width, cells.height);
    if (sheet.hasCodes && levels !== null && Math.min(wide, high) >= HATCHED_CELL) {
      this.#hatchCells(frame, plate, levels, cells, NOT_A_NUMBER, "noNumber");
      this.#hatchCells(frame, plate, levels, cells, NOT_THERE, frame.isOfUnit ? "ofUnit" : "notThere");
    }
    if (inset > 0) this.#drawGaps(frame, cells, columns, rows, inset);
  }

  /** The same room between units as on a card. */
  #drawGaps(frame: Frame, cells: Box, columns: number, rows: number, inset: number): void {
    const context = this.#context;
    const [wide, high] = [cells.width / columns, cells.height / rows];
    const [byX, byY] = [wide * inset, high * inset];
    context.fillStyle = cssColour(frame.inks.surface);
    for (let column = 0; column <= columns; column++) {
      context.fillRect(cells.x + column * wide - byX, cells.y - byY, 2 * byX, cells.height + 2 * byY);
    }
    for (let row = 0; row <= rows; row++) {
      context.fillRect(cells.x - byX, cells.y + row * high - byY, cells.width + 2 * byX, 2 * byY);
    }
  }

  /** Those in view of one kind, all at once. */
  #hatchCells(frame: Frame, plate: Plate, levels: Uint16Array, box: Box, code: number, kind: keyof typeof SHARES): void {
    const context = this.#context;
    const { columns, rows, colourStride } = plate.cells;
    const [wide, high] = [box.width / columns, box.height / rows];
    const maps = colourStride > 0 ? [0, colourStride, 2 * colourStride] : [0];
    const within = (at: number, most: number): number => Math.max(0, Math.min(most, at));
    const [left, right] = [0, frame.size.width].map((x) => within((x - box.x) / wide, columns));
    const [top, bottom] = [0, frame.size.height].map((y) => within((y - box.y) / high, rows));
    context.beginPath();
    for (let row = Math.floor(top!); row < bottom!; row++) {
      for (let column = Math.floor(left!); column < right!; column++) {
        const at = levelAt(plate.cells, column, row);
        if (at < 0 || Math.max(...maps.map((map) => levels[at + map]!)) !== code) continue;
        context.rect(box.x + column * wide, box.y + row * high, wide, high);
      }
    }
    context.fillStyle = this.#hatch(frame, kind);
    context.fill();
  }

  #hatch({ inks }: Frame, kind: keyof typeof SHARES): CanvasPattern | string {
    const ink = kind === "noNumber" ? inks.danger : inks.faint;
    const mixed = SHARES[kind].map((share) =>
      cssColour([0, 1, 2].map((at) => inks.surface[at]! + (ink[at]! - inks.surface[at]!) * share) as [number, number, number]),
    );
    const tile = new OffscreenCanvas(HATCH, HATCH);
    const context = tile.getContext("2d");
    for (let at = 0; at < HATCH * HATCH && context !== null; at++) {
      const [x, y] = [at % HATCH, Math.floor(at / HATCH)];
      context.fillStyle = mixed[(x + y) % HATCH < HATCH / 2 ? 0 : 1]!;
      context.fillRect(x, y, 1, 1);
    }
    return this.#context.createPattern(tile, "repeat") ?? mixed[0]!;
  }

  /** Made once for the same values and colours: a picture of hundreds of thousands of cells takes its time. */
  #sheetOf(frame: Frame, painted: PaintedPlate): Sheet | null {
    if (painted.levels === null || painted.scaling === null) return null;
    const { inks, fading, isOfUnit } = frame;
    const look: SheetLook = { ramp: this.#ramp, inks, fading, isOfUnit };
    const sheet = sheetOf(painted, painted.levels, painted.scaling, look, this.#sheets.get(painted.key));
    if (sheet !== null) this.#sheets.set(painted.key, sheet);
    return sheet;
  }

  #drawLines(frame: Frame, segments: Segments): void {
    const context = this.#context;
    const { numbers } = segments;
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    const scale = project(frame.camera, frame.size, [1, 0, 0])!.x - project(frame.camera, frame.size, [0, 0, 0])!.x;
    context.lineCap = "round";
    for (let at = 0; at < numbers.length; at += SEGMENT_FLOATS) {
      const place = (from: number): ScreenPlace | null =>
        project(frame.camera, frame.size, [numbers[from]!, numbers[from + 1]!, numbers[from + 2]!]);
      const [from, to] = [place(at), place(at + 3)];
      if (from === null || to === null) continue;
      const [red, green, blue, alpha] = bytes.subarray((at + 6) * 4, (at + 7) * 4);
      const colour = `rgb(${red} ${green} ${blue} / ${alpha! / 255})`;
      const [width, endWidth, breadth, endBreadth] = numbers.subarray(at + 7, at + 11) as unknown as [number, number, number, number];
      const [start, end] = [width + breadth * scale, endWidth + endBreadth * scale];
      context.beginPath();
      if (start === end) {
        context.strokeStyle = colour;
        context.lineWidth = start;
        context.moveTo(from.x, from.y);
        context.lineTo(to.x, to.y);
        context.stroke();
      } else {
        wedge(context, from, to, start, end);
        context.fillStyle = colour;
        context.fill();
      }
    }
  }

  measure(): void {
    // It is drawn when the call returns.
  }

  dispose(): void {
    this.#sheets.clear();
  }
}

/** As broad as it says at both ends: the head of an arrow. */
function wedge(context: CanvasRenderingContext2D, from: ScreenPlace, to: ScreenPlace, start: number, end: number): void {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [x, y] = [-(to.y - from.y) / length / 2, (to.x - from.x) / length / 2];
  context.moveTo(from.x + x * start, from.y + y * start);
  context.lineTo(to.x + x * end, to.y + y * end);
  context.lineTo(to.x - x * end, to.y - y * end);
  context.lineTo(from.x - x * start, from.y - y * start);
  context.closePath();
}

function boxBetween(frame: Frame, from: Parameters<typeof project>[2], to: Parameters<typeof project>[2]): Box | null {
  const [start, end] = [project(frame.camera, frame.size, from), project(frame.camera, frame.size, to)];
  if (start === null || end === null) return null;
  return { x: start.x, y: start.y, width: end.x - start.x, height: end.y - start.y };
}

// --- The units of a plate as a small picture, a pixel for each cell: for browsers without WebGL.

interface SheetLook {
  readonly ramp: Uint8ClampedArray;
  readonly inks: Inks;
  readonly fading: number;
  readonly isOfUnit: boolean;
}

interface Sheet {
  readonly canvas: OffscreenCanvas;
  /** Some of its cells hold no number. */
  readonly hasCodes: boolean;
  /** Of what it was made, to know when it is still right. */
  readonly levels: Uint16Array;
  readonly made: readonly unknown[];
}

type Painted = Pick<PaintedPlate, "plate" | "colourRange">;

/** The one of before where nothing has changed; null where the browser refuses a canvas of this size. */
function sheetOf(
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
