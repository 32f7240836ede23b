import { describe, expect, it } from "vitest";
import { axisExtent, curveOf, type Drawn, valueScale } from "../../../src/plot/scalars/model";
import { bucketData, dataOf } from "./samples";

function drawn(values: readonly number[]): Drawn {
  const curve = curveOf(dataOf([...values.keys()], values), null, "step");
  return { curve, smoothed: curve.mean };
}

const ALL = { low: -1e9, high: 1e9 };

describe("the horizontal axis", () => {
  it("goes from the first to the last item of all lines", () => {
    const curves = [dataOf([5, 9], [0, 0]), dataOf([7, 20], [0, 0])].map((data) => curveOf(data, null, "step").x);
    expect(axisExtent(curves, false)).toEqual({ low: 5, high: 20 });
    expect(axisExtent([], false)).toBeNull();
  });

  it("begins at nought where the first bucket does", () => {
    const data = bucketData([10, 30, 990].map((step) => ({ step, mean: 1, low: 1, high: 1, count: 20 })));
    expect(axisExtent([curveOf(data, null, "step").x], false)?.low).toBe(0);
  });

  it("has room around a single point", () => {
    const { low, high } = axisExtent([curveOf(dataOf([7], [1]), null, "step").x], false)!;
    expect(low).toBeLessThan(7);
    expect(high).toBeGreaterThan(7);
  });

  it("of a logarithm begins above nought", () => {
    expect(axisExtent([curveOf(dataOf([0, 2, 8], [1, 1, 1]), null, "step").x], true)).toEqual({ low: 2, high: 8 });
    expect(axisExtent([curveOf(dataOf([0], [1]), null, "step").x], true)).toBeNull();
  });
});

describe("the vertical axis", () => {
  it("holds all values, and those that buckets hide", () => {
    const data = bucketData([
      { step: 0, mean: 5, low: -3, high: 6, count: 9 },
      { step: 9, mean: 5, low: 4, high: 21, count: 9 },
    ]);
    const curve = curveOf(data, null, "step");
    const scale = valueScale([{ curve, smoothed: curve.mean }], ALL, false, false, undefined)!;
    expect(scale.low).toBeLessThanOrEqual(-3);
    expect(scale.high).toBeGreaterThanOrEqual(21);
  });

  it("holds only what is seen", () => {
    const scale = valueScale([drawn([1000, 1, 2, 3, 1000])], { low: 1, high: 3 }, false, false, undefined)!;
    expect(scale.high).toBeLessThan(5);
  });

  it("does not hold a line that ended before", () => {
    const scale = valueScale(
      [drawn([1000, 1000]), drawn([1, 1, 1, 2, 3])],
      { low: 2, high: 4 },
      false,
      false,
      undefined,
    )!;
    expect(scale.high).toBeLessThan(5);
  });

  it("holds a line that crosses it without an item inside", () => {
    const scale = valueScale([drawn([10, 20])], { low: 0.4, high: 0.6 }, false, false, undefined);
    expect(scale).toMatchObject({ low: 10, high: 20 });
  });

  it("leaves out outliers where that is wanted", () => {
    const values = Array.from({ length: 100 }, (_, at) => (at === 50 ? 1e6 : at));
    const scale = valueScale([drawn(values)], ALL, false, true, undefined)!;
    expect(scale.low).toBeGreaterThanOrEqual(0);
    expect(scale.low).toBeLessThanOrEqual(5);
    expect(scale.high).toBeGreaterThanOrEqual(95);
    expect(scale.high).toBeLessThan(120);
  });

  it("counts a bucket by its points when it leaves out outliers", () => {
    const data = bucketData([
      { step: 0, mean: 1, low: 1, high: 1, count: 1 },
      { step: 1, mean: 50, low: 50, high: 50, count: 98 },
      { step: 2, mean: 1e6, low: 1e6, high: 1e6, count: 1 },
    ]);
    const curve = curveOf(data, null, "step");
    const scale = valueScale([{ curve, smoothed: curve.mean }], ALL, false, true, undefined)!;
    expect(scale.high).toBeLessThan(100);
    expect(scale.low).toBeGreaterThan(40);
  });

  it("ignores what is not finite, and what a logarithm does not know", () => {
    expect(valueScale([drawn([NaN, Infinity, 1, 3])], ALL, false, false, undefined)).toMatchObject({ low: 1, high: 3 });
    const scale = valueScale([drawn([-5, 0, 0.01, 10])], ALL, true, false, undefined)!;
    expect(scale.low).toBeGreaterThan(0.005);
    expect(scale.high).toBeGreaterThanOrEqual(10);
    expect(valueScale([drawn([-5, 0])], ALL, true, false, undefined)).toBeNull();
    expect(valueScale([drawn([NaN])], ALL, false, false, undefined)).toBeNull();
  });

  it("has room around values that are all the same", () => {
    for (const value of [0, 3, -1e-9]) {
      const scale = valueScale([drawn([value, value])], ALL, false, false, undefined)!;
      expect(scale.low).toBeLessThan(value);
      expect(scale.high).toBeGreaterThan(value);
    }
  });

  it("stays where somebody fixed it, and follows the data at the other end", () => {
    const scale = valueScale([drawn([1, 2, 3])], ALL, false, false, { low: null, high: 2.2 })!;
    expect(scale.high).toBe(2.2);
    expect(scale.low).toBeLessThanOrEqual(1);
    expect(valueScale([drawn([1, 2])], ALL, false, true, { low: -7, high: 7 })).toMatchObject({ low: -7, high: 7 });
  });
});
