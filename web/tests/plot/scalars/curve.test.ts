import { describe, expect, it } from "vitest";
import { lastFinite, nearest } from "../../../src/plot/lines";
import { curveOf } from "../../../src/plot/scalars/model";
import { firstPart } from "../../../src/plot/scalars/series-feed";
import { append, type Bucket, bucketData, dataOf } from "./samples";

function evenBuckets(count: number, width: number, value = 1): Bucket[] {
  return Array.from({ length: count }, (_, at) => ({
    step: (at + 0.5) * width,
    mean: value,
    low: value - 1,
    high: value + 1,
    count: width,
  }));
}

describe("a curve", () => {
  it("goes along the axis that was chosen", () => {
    const data = dataOf([0, 10], [1, 2]);
    expect([...curveOf(data, null, "step").x]).toEqual([0, 10]);
    expect([...curveOf(data, null, "relative").x]).toEqual([0, 10]);
    expect([...curveOf(data, null, "time").x]).toEqual([1000, 1010]);
  });

  it("is in order also where steps were logged out of order", () => {
    const curve = curveOf(dataOf([0, 5, 3, 4], [10, 15, 13, 14]), null, "step");
    expect([...curve.x]).toEqual([0, 3, 4, 5]);
    expect([...curve.mean]).toEqual([10, 13, 14, 15]);
  });

  it("is finer where finer data is, and as it was around it", () => {
    const whole = bucketData(evenBuckets(10, 100));
    const finer = dataOf([310, 320, 330], [7, 8, 9], { low: 300, high: 400 });
    const curve = curveOf(whole, finer, "step");
    expect([...curve.x]).toEqual([50, 150, 250, 310, 320, 330, 450, 550, 650, 750, 850, 950]);
    expect([...curve.mean].slice(2, 7)).toEqual([1, 7, 8, 9, 1]);
  });

  it("does not take new points beyond a window for a part of it", () => {
    const whole = bucketData(evenBuckets(10, 100));
    const finer = dataOf([310], [7], { low: 300, high: 400 });
    append(finer, [2000], [99]);
    append(whole, [2000], [99]);
    expect([...curveOf(whole, finer, "step").x].filter((x) => x === 2000)).toHaveLength(1);
  });

  it("does not take a window of another axis for one of this", () => {
    const whole = bucketData(evenBuckets(3, 100));
    const finer = dataOf([310], [7], { axis: "time", low: 0, high: 1000 });
    expect(curveOf(whole, finer, "step").size).toBe(3);
  });

  it("keeps points as they are where none were gathered before", () => {
    const data = dataOf([0, 1], [5, 6]);
    append(data, [2, 3], [7, 8]);
    expect([...curveOf(data, null, "step").mean]).toEqual([5, 6, 7, 8]);
  });
});

describe("the nearest item", () => {
  const curve = { x: Float64Array.from([0, 10, 20]) };

  it("is the one at the shorter way", () => {
    expect([-1, 4, 6, 14, 21].map((x) => nearest(curve.x, x, 1))).toEqual([0, 0, 1, 1, 2]);
  });

  it("is none far beyond the ends", () => {
    expect(nearest(curve.x, 22, 1)).toBe(-1);
    expect(nearest(curve.x, -2, 1)).toBe(-1);
    expect(nearest(new Float64Array(0), 0, Infinity)).toBe(-1);
  });

  it("may be the last one that is finite", () => {
    expect(lastFinite(Float64Array.from([1, 2, NaN, Infinity]))).toBe(1);
    expect(lastFinite(Float64Array.from([NaN]))).toBe(-1);
  });
});

describe("the first part of a logarithmic axis", () => {
  it("is a small share of all, and the same while a run grows a little", () => {
    expect(firstPart(1_000_000)).toEqual({ low: 0, high: 8192 });
    expect(firstPart(1_040_000)).toEqual(firstPart(1_000_000));
    expect(firstPart(50)).toBeNull();
  });
});
