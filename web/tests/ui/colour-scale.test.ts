import { describe, expect, test } from "vitest";
import {
  autoScale,
  paintValues,
  type Palette,
  parseHex,
  placeOn,
  rampBytes,
  stepClass,
} from "../../src/ui/colour-scale";

describe("the scale of a tensor", () => {
  test("has zero in the middle when there are both signs", () => {
    expect(autoScale({ min: -3, max: 1 })).toEqual({ map: "div", low: -3, high: 3 });
    expect(placeOn(autoScale({ min: -3, max: 1 }), 0)).toBe(0.5);
  });
  test("starts at zero when all values have one sign", () => {
    expect(autoScale({ min: 0, max: 5 })).toEqual({ map: "seq", low: 0, high: 5 });
    expect(autoScale({ min: -5, max: 0 })).toEqual({ map: "seq", low: 0, high: -5 });
    expect(placeOn(autoScale({ min: -5, max: -0.1 }), -5)).toBe(1);
  });
  test("starts at the least value when all crowd far from zero", () => {
    expect(autoScale({ min: 100, max: 101 })).toEqual({ map: "seq", low: 100, high: 101 });
    expect(autoScale({ min: -101, max: -100 })).toEqual({ map: "seq", low: -100, high: -101 });
  });
  test("survives tensors that are constant, zero, or have no finite value", () => {
    for (const [min, max] of [
      [0, 0],
      [null, null],
      [2, 2],
      [-2, -2],
    ] as const) {
      const scale = autoScale({ min, max });
      for (const value of [-2, 0, 2]) expect(Number.isFinite(placeOn(scale, value))).toBe(true);
    }
    expect(placeOn(autoScale({ min: 0, max: 0 }), 0)).toBe(0);
    expect(placeOn(autoScale({ min: 2, max: 2 }), 2)).toBe(1);
  });
});

test("values beyond the limits take the colour of the limit", () => {
  const scale = { map: "div", low: -1, high: 1 } as const;
  expect(placeOn(scale, 7)).toBe(1);
  expect(placeOn(scale, -7)).toBe(0);
});

test("the step of a value is a class of its map, and no number is none", () => {
  const div = { map: "div", low: -1, high: 1 } as const;
  const seq = { map: "seq", low: 0, high: 1 } as const;
  expect([-1, -0.1, 0, 1].map((value) => stepClass(div, value))).toEqual(["d0", "d5", "d5", "d10"]);
  expect([0, 0.5, 1].map((value) => stepClass(seq, value))).toEqual(["q0", "q5", "q9"]);
  expect(stepClass(div, Number.NaN)).toBe("nan");
  expect(stepClass(div, Number.NEGATIVE_INFINITY)).toBe("inf");
});

test("a colour is read from its six digits, and nonsense is grey", () => {
  expect(parseHex(" #0B7570 ")).toEqual([11, 117, 112]);
  expect(parseHex("rebeccapurple")).toEqual([128, 128, 128]);
});

test("a ramp begins and ends at its stops and goes evenly between them", () => {
  const bytes = rampBytes([
    [0, 0, 0],
    [255, 0, 100],
  ]);
  expect([...bytes.slice(0, 4)]).toEqual([0, 0, 0, 255]);
  expect([...bytes.slice(-4)]).toEqual([255, 0, 100, 255]);
  expect(bytes[128 * 4]).toBe(128);
});

test("NaN and infinity are never painted in a colour of the ramp", () => {
  const palette: Palette = {
    ramp: rampBytes([
      [0, 0, 0],
      [0, 0, 255],
    ]),
    danger: [200, 20, 30],
    surface: [255, 255, 255],
    none: [7, 8, 9],
  };
  const values = [0, 1, Number.NaN, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const pixels = paintValues(values, 0, 3, 2, { map: "seq", low: 0, high: 1 }, palette);
  const pixel = (at: number): number[] => [...pixels.slice(at * 4, at * 4 + 3)];
  expect(pixel(0)).toEqual([0, 0, 0]);
  expect(pixel(1)).toEqual([0, 0, 255]);
  for (const at of [2, 3]) expect(pixel(at)[0]).toBeGreaterThanOrEqual(200);
  expect(pixel(2)).not.toEqual(pixel(3)); // a hatch
  expect(pixel(4)).toEqual([200, 20, 30]);
  expect(pixel(5)).toEqual([200, 20, 30]);
});
