/** Plates on a plain canvas, flat: for browsers without WebGL. */
import { project, type ScreenPlace } from "./camera";
import { cssColour, type Inks } from "./colours";
import type { Frame, PaintedPlate, Painter } from "./painter";
import { cornersOf, inSpace, levelAt, type Plate } from "./plates";
import { riseOfLevel, tintOfLevel } from "./scaling";
import { SEGMENT_FLOATS, type Segments } from "./segments";
import { LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY } from "./store";

/** Null where there is not even that. */
export function startFlatPainter(canvas: HTMLCanvasElement): Painter | null {
  const context = canvas.getContext("2d", { alpha: false });
  return context === null ? null : new FlatPainter(context);
}

class FlatPainter implements Painter {
  readonly name = "canvas";
  readonly isDeep = false;
  readonly #context: CanvasRenderingContext2D;
  #ramp: Uint8ClampedArray = new Uint8ClampedArray(1024);

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  setLevels(): void {
    // They come with each frame.
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
    const [from, , to] = cornersOf(painted.plate).map((corner) => project(frame.camera, frame.size, corner));
    if (from == null || to == null) return;
    context.fillStyle = cssColour(frame.inks.surface);
    context.fillRect(from.x, from.y, to.x - from.x, to.y - from.y);
    const picture = pictureOf(painted, this.#ramp, frame.inks, frame.fading);
    const [start, end] = innerCorners(frame, painted.plate);
    if (picture === null || start === null || end === null) return;
    const { columns, rows } = painted.plate.cells;
    const sheet = new OffscreenCanvas(columns, rows);
    sheet.getContext("2d")?.putImageData(new ImageData(picture, columns, rows), 0, 0);
    context.imageSmoothingEnabled = (end.x - start.x) / columns < 1;
    context.drawImage(sheet, start.x, start.y, end.x - start.x, end.y - start.y);
  }

  #drawLines(frame: Frame, segments: Segments): void {
    const context = this.#context;
    const { numbers } = segments;
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    for (let at = 0; at < numbers.length; at += SEGMENT_FLOATS) {
      const place = (from: number): ScreenPlace | null =>
        project(frame.camera, frame.size, [numbers[from]!, numbers[from + 1]!, numbers[from + 2]!]);
      const [from, to] = [place(at), place(at + 3)];
      if (from === null || to === null) continue;
      const [red, green, blue, alpha] = bytes.subarray((at + 6) * 4, (at + 7) * 4);
      context.strokeStyle = `rgb(${red} ${green} ${blue} / ${alpha! / 255})`;
      context.lineWidth = Math.max(1, numbers[at + 7]!);
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
      context.stroke();
    }
  }

  measure(): void {
    // It is drawn when the call returns.
  }

  dispose(): void {
    // Nothing is kept.
  }
}

function innerCorners(frame: Frame, plate: Plate): readonly [ScreenPlace | null, ScreenPlace | null] {
  const { columns, rows } = plate.cells;
  return [
    project(frame.camera, frame.size, inSpace(plate, 0, 0, 0)),
    project(frame.camera, frame.size, inSpace(plate, columns, rows, 0)),
  ];
}

/** A pixel for each cell. */
export function pictureOf(
  { plate, levels, scaling }: PaintedPlate,
  ramp: Uint8ClampedArray,
  inks: Inks,
  fading: number,
): Uint8ClampedArray<ArrayBuffer> | null {
  if (levels === null || scaling === null) return null;
  const { columns, rows, colourStride } = plate.cells;
  const pixels = new Uint8ClampedArray(columns * rows * 4);
  for (let at = 0; at < columns * rows; at++) {
    const [column, row] = [at % columns, Math.floor(at / columns)];
    const index = levelAt(plate.cells, column, row);
    if (index < 0) continue;
    const maps = colourStride > 0 ? [0, 1, 2].map((map) => levels[index + map * colourStride]!) : [levels[index]!];
    const worst = Math.max(...maps);
    const isOdd = (column + row) % 2 === 1;
    if (worst > LEVELS) pixels.set(codePixel(worst, isOdd, inks), at * 4);
    else if (colourStride > 0) pixels.set([...maps.map((level) => (level / LEVELS) * 255), 255], at * 4);
    else {
      const step = Math.round((tintOfLevel(scaling, worst) ?? 0) * 255) * 4;
      pixels.set(ramp.subarray(step, step + 3), at * 4);
      pixels[at * 4 + 3] = 255 * (1 - fading * (1 - riseOfLevel(scaling, worst)));
    }
  }
  return pixels;
}

/** What is no number: cell by cell, a hatch at this size. */
function codePixel(level: number, isOdd: boolean, inks: Inks): readonly number[] {
  const { danger, faint } = inks;
  if (level === PLUS_INFINITY || level === MINUS_INFINITY) return [...danger, 255];
  if (level === NOT_A_NUMBER) return [...danger, isOdd ? 64 : 255];
  return [...faint, level === NOT_THERE && isOdd ? 30 : 100];
}
