/**
 * Lines and rectangles set pixel by pixel, for charts of many lines: without a graphics card a browser takes a
 * millisecond for a line of some hundred corners, and more for one with dashes; this takes a twentieth of it.
 */
import { parseHex, type Rgb } from "../../ui/colour-scale";
import type { LineCanvas } from "./paint";
import type { Box } from "./shapes";

const FULL = 255;

export class LinePixels implements LineCanvas {
  fillStyle: LineCanvas["fillStyle"] = "";
  strokeStyle: LineCanvas["strokeStyle"] = "";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "round";
  globalAlpha = 1;
  readonly #context: CanvasRenderingContext2D;
  /** Pixels of the screen in one of the page; all else here is in those of the screen. */
  readonly #ratio: number;
  readonly #left: number;
  readonly #top: number;
  readonly #image: ImageData;
  /** How much of each pixel is covered by the line that is being drawn. */
  readonly #covered: Uint8ClampedArray;
  #dashes: readonly number[] = [];
  /** Which of them the line has come to, and how much of it is left; every other one is a gap. */
  #dash = 0;
  #dashLeft = Infinity;
  /** x and y of each point; NaN before the first one of a piece. */
  #path: number[] = [];

  /** What lies outside of the box is cut off. */
  constructor(context: CanvasRenderingContext2D, box: Box) {
    this.#context = context;
    this.#ratio = context.getTransform().a;
    this.#left = Math.floor((box.left - 1) * this.#ratio);
    this.#top = Math.floor((box.top - 3) * this.#ratio);
    const [width, height] = [Math.ceil((box.width + 2) * this.#ratio), Math.ceil((box.height + 6) * this.#ratio)];
    this.#image = new ImageData(width, height);
    this.#covered = new Uint8ClampedArray(width * height);
  }

  setLineDash(dashes: readonly number[]): void {
    this.#dashes = dashes.map((length) => length * this.#ratio);
  }

  beginPath(): void {
    this.#path = [];
  }

  moveTo(x: number, y: number): void {
    this.#path.push(NaN, NaN);
    this.lineTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.#path.push(x * this.#ratio - this.#left, y * this.#ratio - this.#top);
  }

  stroke(): void {
    const [path, half] = [this.#path, (this.lineWidth * this.#ratio) / 2];
    let [fromX, fromY] = [NaN, NaN];
    let [top, bottom] = [Infinity, -Infinity];
    for (let at = 0; at < path.length; at += 2) {
      const [x, y] = [path[at]!, path[at + 1]!];
      if (y < top) top = y;
      if (y > bottom) bottom = y;
      if (Number.isNaN(x)) [this.#dash, this.#dashLeft] = [0, this.#dashes[0] ?? Infinity];
      // Round at both ends: longer by half of the width.
      const [isFirst, isLast] = [Number.isNaN(path[at - 4]!), Number.isNaN(path[at + 2] ?? NaN)];
      this.#strokePiece(fromX, fromY, x, y, half, isFirst ? half : 0, isLast ? half : 0);
      [fromX, fromY] = [x, y];
    }
    this.#blendCovered(Math.floor(top - 2 * half - 1), Math.ceil(bottom + 2 * half + 1));
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const ratio = this.#ratio;
    const [left, right] = [x * ratio - this.#left, (x + width) * ratio - this.#left];
    const [top, bottom] = [y * ratio - this.#top, (y + height) * ratio - this.#top];
    const [red, green, blue] = rgbOf(this.fillStyle);
    const [numColumns, numRows] = [this.#image.width, this.#image.height];
    for (let row = Math.max(0, Math.floor(top)); row < Math.min(numRows, Math.ceil(bottom)); row++) {
      const down = Math.min(bottom, row + 1) - Math.max(top, row);
      for (let column = Math.max(0, Math.floor(left)); column < Math.min(numColumns, Math.ceil(right)); column++) {
        const across = Math.min(right, column + 1) - Math.max(left, column);
        this.#blend(row * numColumns + column, this.globalAlpha * down * across, red, green, blue);
      }
    }
  }

  /** Bring what was drawn to the canvas. */
  flush(): void {
    const { width, height } = this.#image;
    const scratch = new OffscreenCanvas(width, height);
    scratch.getContext("2d")!.putImageData(this.#image, 0, 0);
    this.#context.save();
    this.#context.setTransform(1, 0, 0, 1, 0, 0);
    this.#context.globalAlpha = 1;
    this.#context.drawImage(scratch, this.#left, this.#top);
    this.#context.restore();
  }

  /** From corner to corner, as far as it lies in dashes, which are round at their ends as well. */
  #strokePiece(x: number, y: number, toX: number, toY: number, half: number, firstCap: number, lastCap: number): void {
    const length = Math.hypot(toX - x, toY - y);
    // Also where there is no corner before it.
    if (!(length > 0)) return;
    const [right, down] = [(toX - x) / length, (toY - y) / length];
    let [from, cap] = [0, firstCap];
    while (from < length) {
      const to = Math.min(length, from + this.#dashLeft);
      const [start, end] = [from - cap, to + (to < length ? half : lastCap)];
      if (this.#dash % 2 === 0) this.#cover(x + right * start, y + down * start, x + right * end, y + down * end, half);
      this.#dashLeft -= to - from;
      if (this.#dashLeft <= 0) {
        this.#dash = (this.#dash + 1) % this.#dashes.length;
        this.#dashLeft = this.#dashes[this.#dash]!;
      }
      [from, cap] = [to, half];
    }
  }

  /** A piece of a line: row by row where it is steep, column by column where it is not. */
  #cover(fromX: number, fromY: number, toX: number, toY: number, half: number): void {
    const { width, height } = this.#image;
    const isSteep = Math.abs(toY - fromY) >= Math.abs(toX - fromX);
    let [from, to, side, sideTo] = isSteep ? [fromY, toY, fromX, toX] : [fromX, toX, fromY, toY];
    if (from > to) [from, to, side, sideTo] = [to, from, sideTo, side];
    const [numLong, numSide, longStep, sideStep] = isSteep ? [height, width, width, 1] : [width, height, 1, width];
    const slope = (sideTo - side) / (to - from);
    const reach = half * Math.sqrt(1 + slope * slope);
    const last = Math.min(numLong, Math.ceil(to));
    for (let long = Math.max(0, Math.floor(from)); long < last; long++) {
      const [start, end] = [Math.max(from, long), Math.min(to, long + 1)];
      const middle = side + ((start + end) / 2 - from) * slope;
      const [low, high] = [middle - reach, middle + reach];
      const share = FULL * (end - start);
      for (let beside = Math.max(0, Math.floor(low)); beside < Math.min(numSide, Math.ceil(high)); beside++) {
        // No more than all of it: the array is clamped.
        this.#covered[long * longStep + beside * sideStep]! += share * (Math.min(high, beside + 1) - Math.max(low, beside));
      }
    }
  }

  #blendCovered(top: number, bottom: number): void {
    const [covered, width] = [this.#covered, this.#image.width];
    const [red, green, blue] = rgbOf(this.strokeStyle);
    const end = Math.min(this.#image.height, bottom) * width;
    for (let at = Math.max(0, top) * width; at < end; at++) {
      if (covered[at] === 0) continue;
      this.#blend(at, (this.globalAlpha * covered[at]!) / FULL, red, green, blue);
      covered[at] = 0;
    }
  }

  #blend(pixel: number, alpha: number, red: number, green: number, blue: number): void {
    const [data, at] = [this.#image.data, 4 * pixel];
    const rest = (data[at + 3]! / FULL) * (1 - alpha);
    const all = alpha + rest;
    data[at] = (alpha * red + rest * data[at]!) / all;
    data[at + 1] = (alpha * green + rest * data[at + 1]!) / all;
    data[at + 2] = (alpha * blue + rest * data[at + 2]!) / all;
    data[at + 3] = FULL * all;
  }
}

/** The colours of the theme are all of this kind. */
function rgbOf(style: LineCanvas["fillStyle"]): Rgb {
  return parseHex(typeof style === "string" ? style : "");
}
