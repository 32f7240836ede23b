/**
 * Lines and rectangles set pixel by pixel, for charts of many lines: without a graphics card a browser takes a
 * millisecond for a line of some hundred corners, and more for one with dashes; this takes a twentieth of it.
 */
import { parseHex, type Rgb } from "../../ui/colour-scale";
import type { Box, LineCanvas } from "./paint";

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
  /** The same, four at a time: most of them are not. */
  readonly #coveredFours: Uint32Array;
  #style: LineCanvas["fillStyle"] = "";
  #rgb: Rgb = [0, 0, 0];
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
    this.#coveredFours = new Uint32Array(Math.ceil((width * height) / 4));
    this.#covered = new Uint8ClampedArray(this.#coveredFours.buffer);
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
    let fromX = NaN;
    let fromY = NaN;
    let top = Infinity;
    let bottom = -Infinity;
    for (let at = 0; at < path.length; at += 2) {
      const x = path[at]!;
      const y = path[at + 1]!;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
      if (Number.isNaN(x)) {
        this.#dash = 0;
        this.#dashLeft = this.#dashes[0] ?? Infinity;
      }
      // Round at both ends: longer by half of the width.
      const isFirst = Number.isNaN(path[at - 4]!);
      const isLast = Number.isNaN(path[at + 2] ?? NaN);
      this.#strokePiece(fromX, fromY, x, y, half, isFirst ? half : 0, isLast ? half : 0);
      fromX = x;
      fromY = y;
    }
    this.#blendCovered(Math.floor(top - 2 * half - 1), Math.ceil(bottom + 2 * half + 1));
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const ratio = this.#ratio;
    const [left, right] = [x * ratio - this.#left, (x + width) * ratio - this.#left];
    const [top, bottom] = [y * ratio - this.#top, (y + height) * ratio - this.#top];
    const [red, green, blue] = this.#rgbOf(this.fillStyle);
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
    const length = Math.sqrt((toX - x) ** 2 + (toY - y) ** 2);
    // Also where there is no corner before it.
    if (!(length > 0)) return;
    const right = (toX - x) / length;
    const down = (toY - y) / length;
    let from = 0;
    let cap = firstCap;
    while (from < length) {
      const isDashDone = from + this.#dashLeft < length;
      const to = isDashDone ? from + this.#dashLeft : length;
      const start = from - cap;
      const end = to + (isDashDone ? half : lastCap);
      if (this.#dash % 2 === 0) this.#cover(x + right * start, y + down * start, x + right * end, y + down * end, half);
      if (isDashDone) {
        this.#dash = (this.#dash + 1) % this.#dashes.length;
        this.#dashLeft = this.#dashes[this.#dash]!;
      } else this.#dashLeft -= to - from;
      from = to;
      cap = half;
    }
  }

  /** A piece of a line: row by row where it is steep, column by column where it is not. */
  #cover(fromX: number, fromY: number, toX: number, toY: number, half: number): void {
    const { width, height } = this.#image;
    if (Math.abs(toY - fromY) < Math.abs(toX - fromX)) {
      if (fromX < toX) this.#coverAlong(fromX, fromY, toX, toY, half, width, height, 1, width);
      else this.#coverAlong(toX, toY, fromX, fromY, half, width, height, 1, width);
    } else if (fromY < toY) this.#coverAlong(fromY, fromX, toY, toX, half, height, width, width, 1);
    else this.#coverAlong(toY, toX, fromY, fromX, half, height, width, width, 1);
  }

  /** Along one axis, on which it rises, and to both sides along the other: how many pixels each has, and how far apart. */
  #coverAlong(
    from: number,
    side: number,
    to: number,
    sideTo: number,
    half: number,
    count: number,
    sideCount: number,
    step: number,
    sideStep: number,
  ): void {
    const covered = this.#covered;
    const slope = (sideTo - side) / (to - from);
    const reach = half * Math.sqrt(1 + slope * slope);
    const last = Math.min(count, Math.ceil(to));
    for (let at = Math.max(0, Math.floor(from)); at < last; at++) {
      const start = Math.max(from, at);
      const end = Math.min(to, at + 1);
      const middle = side + ((start + end) / 2 - from) * slope;
      const low = middle - reach;
      const high = middle + reach;
      const sideLast = Math.min(sideCount, Math.ceil(high));
      for (let beside = Math.max(0, Math.floor(low)); beside < sideLast; beside++) {
        // No more than all of it: the array is clamped.
        covered[at * step + beside * sideStep]! += FULL * (end - start) * (Math.min(high, beside + 1) - Math.max(low, beside));
      }
    }
  }

  #blendCovered(top: number, bottom: number): void {
    const [covered, fours, width] = [this.#covered, this.#coveredFours, this.#image.width];
    const [red, green, blue] = this.#rgbOf(this.strokeStyle);
    const [first, end] = [Math.max(0, top) * width, Math.min(this.#image.height, bottom) * width];
    for (let four = first >> 2; four < (end + 3) >> 2; four++) {
      if (fours[four] === 0) continue;
      for (let at = 4 * four; at < 4 * four + 4; at++) {
        if (covered[at] !== 0) this.#blend(at, (this.globalAlpha * covered[at]!) / FULL, red, green, blue);
      }
      fours[four] = 0;
    }
  }

  #blend(pixel: number, alpha: number, red: number, green: number, blue: number): void {
    const { data } = this.#image;
    const at = 4 * pixel;
    const rest = (data[at + 3]! / FULL) * (1 - alpha);
    const all = alpha + rest;
    data[at] = (alpha * red + rest * data[at]!) / all;
    data[at + 1] = (alpha * green + rest * data[at + 1]!) / all;
    data[at + 2] = (alpha * blue + rest * data[at + 2]!) / all;
    data[at + 3] = FULL * all;
  }

  /** Asked for each rectangle, of which many have one colour. */
  #rgbOf(style: LineCanvas["fillStyle"]): Rgb {
    if (style !== this.#style) [this.#style, this.#rgb] = [style, parseHex(typeof style === "string" ? style : "")];
    return this.#rgb;
  }
}
