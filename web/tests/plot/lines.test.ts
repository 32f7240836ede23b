import { expect, test } from "vitest";
import {
  bandPath,
  lastFinite,
  linePath,
  valueNear,
  xLimits,
  yLimits,
  type Line,
} from "../../src/plot/lines";

const same = (value: number): number => value;

function lineOf(y: number[], parts: Partial<Line> = {}): Line {
  return { name: "l", colour: "red", x: y.map((_, at) => at), y, end: "dot", ...parts };
}

test("a line begins anew after a gap, and a point between gaps can be seen", () => {
  expect(linePath(lineOf([1, 2, NaN, 4, 5]), same, same)).toBe("M0 1L1 2M3 4L4 5");
  expect(linePath(lineOf([NaN, 3, Infinity]), same, same)).toBe("M1 3L1.01 3");
  expect(linePath(lineOf([]), same, same)).toBe("");
});

test("a band goes along the highest and back along the lowest, and gaps split it", () => {
  const line = lineOf([1, 1, 1, 1, 1], { low: [0, 0, NaN, 0, 0], high: [2, 3, NaN, 3, 2] });
  expect(bandPath(line, same, same)).toBe("M0 2L1 3L1 0L0 0ZM3 3L4 2L4 0L3 0Z");
  expect(bandPath(lineOf([1]), same, same)).toBe("");
});

test("one bad point does not flatten a line that may be cut", () => {
  const y = Array.from({ length: 100 }, (_, at) => 1 + at / 100);
  y[50] = 1e9;
  expect(yLimits([lineOf(y)], true)!.high).toBeLessThan(3);
  expect(yLimits([lineOf(y)], false)!.high).toBe(1e9);
});

test("a run that exploded does not flatten the others, but is seen where it is alone", () => {
  const exploded = lineOf([1, 10, 1e6], { end: "cross" });
  expect(yLimits([lineOf([2, 1.5, 1.2]), exploded], true)!.high).toBe(2);
  expect(yLimits([exploded], true)!.high).toBe(1e6);
});

test("limits are never empty, hold zero where it is near, and there are none without values", () => {
  expect(yLimits([lineOf([3, 3])], false)).toEqual({ low: 2.7, high: 3.3 });
  expect(yLimits([lineOf([0])], false)).toEqual({ low: 0, high: 1 });
  expect(yLimits([lineOf([0.1, 1])], false)).toEqual({ low: 0, high: 1 });
  expect(yLimits([lineOf([90, 100])], false)).toEqual({ low: 90, high: 100 });
  expect(yLimits([lineOf([NaN])], false)).toBeNull();
  expect(xLimits([])).toBeNull();
  expect(xLimits([lineOf([1])])).toEqual({ low: -0.5, high: 0.5 });
});

test("the value under the pointer is that of the nearest point, and none beyond the ends", () => {
  const line = { x: [0, 10, 20], y: [1, 2, NaN] };
  expect(valueNear(line, 4)).toBe(1);
  expect(valueNear(line, 6)).toBe(2);
  expect(valueNear(line, 19)).toBeNull();
  expect(valueNear(line, 21)).toBeNull();
  expect(valueNear(line, -1)).toBeNull();
  expect(valueNear({ x: [], y: [] }, 0)).toBeNull();
});

test("a line ends at its last value, not at a gap", () => {
  expect(lastFinite([1, 2, NaN])).toBe(1);
  expect(lastFinite([NaN])).toBe(-1);
});
