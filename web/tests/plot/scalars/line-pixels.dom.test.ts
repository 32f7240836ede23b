import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LinePixels } from "../../../src/plot/scalars/line-pixels";

const BOX = { left: 1, top: 3, width: 18, height: 4 };
const [WIDTH, HEIGHT] = [20, 10];

class Picture {
  readonly data: Uint8ClampedArray;
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
}

let drawn: Picture | null = null;

beforeEach(() => {
  vi.stubGlobal("ImageData", Picture);
  vi.stubGlobal(
    "OffscreenCanvas",
    class {
      getContext = () => ({ putImageData: (picture: Picture) => (drawn = picture) });
    },
  );
});
afterEach(() => vi.unstubAllGlobals());

/** The colour and the opacity of each pixel, by row and column. */
function draw(work: (pixels: LinePixels) => void): (row: number, column: number) => number[] {
  const nothing = (): void => undefined;
  const context = { getTransform: () => ({ a: 1 }), save: nothing, restore: nothing, setTransform: nothing, drawImage: nothing };
  const pixels = new LinePixels(context as unknown as CanvasRenderingContext2D, BOX);
  pixels.strokeStyle = "#ff8000";
  pixels.fillStyle = "#0000ff";
  work(pixels);
  pixels.flush();
  expect([drawn!.width, drawn!.height]).toEqual([WIDTH, HEIGHT]);
  return (row, column) => [...drawn!.data.slice(4 * (row * WIDTH + column), 4 * (row * WIDTH + column) + 4)];
}

function line(pixels: LinePixels, width: number, ...points: readonly (readonly [number, number])[]): void {
  pixels.lineWidth = width;
  pixels.beginPath();
  points.forEach(([x, y], at) => (at === 0 ? pixels.moveTo(x, y) : pixels.lineTo(x, y)));
  pixels.stroke();
}

const SOLID = [255, 128, 0, 255];
const NOTHING = [0, 0, 0, 0];

describe("lines set pixel by pixel", () => {
  it("are as wide as they should be, across and down, and soft at their edges", () => {
    const across = draw((pixels) => line(pixels, 2, [0, 5], [10, 5], [20, 5]));
    expect([3, 4, 5, 6].map((row) => across(row, 10)[3])).toEqual([0, 255, 255, 0]);
    expect(across(4, 10)).toEqual(SOLID);
    const down = draw((pixels) => line(pixels, 1.5, [10, 0], [10, 10]));
    expect([8, 9, 10, 11].map((column) => Math.round(down(5, column)[3]! / 51))).toEqual([0, 4, 4, 0]);
  });

  it("are whole where corners meet, whatever their direction", () => {
    const at = draw((pixels) => line(pixels, 2, [2, 2], [6, 8], [10, 2], [14, 8]));
    for (const [row, column] of [[3, 2], [5, 4], [7, 6], [5, 8], [3, 10], [5, 12]] as const) {
      expect(at(row, column)[3]).toBeGreaterThan(200);
    }
  });

  it("have gaps between dashes, and between pieces", () => {
    const dashed = draw((pixels) => {
      pixels.setLineDash([4, 6]);
      line(pixels, 2, [0, 5], [20, 5]);
    });
    expect([1, 2, 7, 12, 17].map((column) => dashed(5, column)[3])).toEqual([255, 255, 0, 255, 0]);
    const pieces = draw((pixels) => {
      pixels.lineWidth = 2;
      pixels.beginPath();
      for (const x of [0, 12]) {
        pixels.moveTo(x, 5);
        pixels.lineTo(x + 4, 5);
      }
      pixels.stroke();
    });
    expect([2, 8, 14].map((column) => pieces(5, column)[3])).toEqual([255, 0, 255]);
  });

  it("lie above each other by their opacity, and end at the box", () => {
    const at = draw((pixels) => {
      pixels.globalAlpha = 0.5;
      pixels.fillRect(-50, 2, 100, 4);
      pixels.fillRect(-50, 2, 100, 4);
      pixels.globalAlpha = 1;
      line(pixels, 2, [-100, 4], [100, 4]);
    });
    expect(at(1, 5)).toEqual(NOTHING);
    expect([at(2, 5), at(5, 5)].map(([red, , blue, alpha]) => [red, blue, Math.round(alpha! / 16)])).toEqual([[0, 255, 12], [0, 255, 12]]);
    expect(at(3, 0)).toEqual(SOLID);
  });
});
