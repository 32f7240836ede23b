import { describe, expect, it } from "vitest";
import { bucketsFor } from "../../../src/pages/layers/LayersPage";
import { limitsOf } from "../../../src/pages/layers/RowPanel";
import {
  bucketAt,
  bucketSpans,
  nearestBucket,
  pixelBuckets,
  placeOf,
  stepsAlong,
  stepUnder,
  zoomed,
} from "../../../src/pages/layers/steps";
import { shareOf } from "../../../src/plot/scale";

function each(...steps: number[]) {
  return { first_steps: steps, last_steps: steps };
}

describe("buckets", () => {
  it("reach halfway to their neighbours", () => {
    expect(bucketSpans(each(0, 2, 4))).toEqual([
      { low: -1, high: 1 },
      { low: 1, high: 3 },
      { low: 3, high: 5 },
    ]);
    expect(bucketSpans(each(7))).toEqual([{ low: 6.5, high: 7.5 }]);
    expect(bucketSpans(each())).toEqual([]);
  });

  it("do not reach over a hole: what is in it was not recorded", () => {
    const spans = bucketSpans(each(0, 1, 2, 50, 51, 52));
    expect(spans[2]).toEqual({ low: 1.5, high: 2.5 });
    expect(spans[3]!.low).toBe(49.5);
    expect(bucketAt(spans, 20)).toBe(-1);
    expect(nearestBucket(spans, 20)).toBe(2);
  });

  it("of a part with fewer steps are no holes", () => {
    const spans = bucketSpans(each(0, 1, 2, 10, 20, 30, 31, 32));
    for (let at = 1; at < spans.length; at++) expect(spans[at]!.low).toBe(spans[at - 1]!.high);
  });

  it("are found by any step in them", () => {
    const spans = bucketSpans({ first_steps: [0, 10, 20], last_steps: [9, 19, 29] });
    for (let step = 0; step < 30; step++) expect(bucketAt(spans, step)).toBe(Math.floor(step / 10));
    expect(bucketAt(spans, -5)).toBe(-1);
    expect(bucketAt(spans, 99)).toBe(-1);
    expect(nearestBucket(spans, 99)).toBe(2);
    expect(nearestBucket([], 1)).toBe(-1);
  });

  it("have a pixel each, however narrow they are", () => {
    const spans = bucketSpans(each(0, 1, 2, 3, 1000, 1001, 2000));
    const pixels = pixelBuckets(spans, { low: -0.5, high: 2000.5, width: 500 });
    expect(pixels[0]).toBe(0);
    expect(pixels[499]).toBe(6);
    expect(new Set(pixels).has(-1)).toBe(true);
  });

  it("outside of the axis have none", () => {
    const spans = bucketSpans(each(0, 1, 2, 3));
    expect([...pixelBuckets(spans, { low: 1.5, high: 2.5, width: 4 })]).toEqual([2, 2, 2, 2]);
  });

  it("are as many as there is room for", () => {
    expect(bucketsFor(958)).toBe(288);
    expect(bucketsFor(10)).toBe(32);
    expect(bucketsFor(1e6)).toBeLessThanOrEqual(2048);
  });
});

describe("an axis", () => {
  const axis = { low: 0, high: 100, width: 500 };

  it("leads from steps to pixels and back", () => {
    for (const step of [0, 12.5, 100]) expect(stepUnder(axis, placeOf(axis, step))).toBeCloseTo(step);
  });

  it("has whole steps only", () => {
    expect(stepsAlong({ low: 0.5, high: 3.5, width: 800 }).ticks.every(({ value }) => Number.isInteger(value))).toBe(true);
  });

  it("is zoomed around a place, and never beyond its ends", () => {
    expect(zoomed(axis, axis, 2, 100)).toEqual({ low: 50, high: 100 });
    expect(zoomed(axis, axis, 2, 0)).toEqual({ low: 0, high: 50 });
    expect(zoomed({ low: 20, high: 60 }, axis, 0.5, 40)).toEqual({ low: 0, high: 80 });
    expect(zoomed(axis, axis, 0.5, 50)).toBeNull();
  });
});

describe("the values of a chart", () => {
  const plain = { isShare: false, mayBeLog: false };

  it("are logarithmic where sizes span decades", () => {
    const axis = limitsOf([Float32Array.from([0, 0.01, 100, NaN])], { ...plain, mayBeLog: true });
    expect(axis.isLog).toBe(true);
    expect(shareOf(axis, 1)).toBeCloseTo(0.5, 3);
    expect(shareOf(axis, 0.01)).toBeCloseTo(0, 6);
  });

  it("have room also where all are alike, or none is known", () => {
    for (const values of [[3, 3], [0], [NaN, Infinity], []]) {
      const { low, high } = limitsOf([Float32Array.from(values)], plain);
      expect(high).toBeGreaterThan(low);
    }
  });

  it("of shares begin at nought", () => {
    expect(limitsOf([Float32Array.from([0.2, 0.7])], { ...plain, isShare: true })).toMatchObject({ low: 0, high: 1 });
  });
});
