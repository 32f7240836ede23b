/** Histograms of any bins, and what is drawn of them. */
import { describe, expect, it } from "vitest";
import { drawnBars, type Bins, binsOf as binsIn, drawnIn, evenBins, filledSpan } from "../../../src/pages/tensors/HistogramView";

function binsOf(edges: readonly number[], counts: readonly number[]): Bins {
  return { edges: Float64Array.from(edges), counts: Float64Array.from(counts) };
}

const sum = (values: Iterable<number>): number => [...values].reduce((one, other) => one + other, 0);

/** Edges that grow by a tenth from 1e−12 on both sides of nought, as many logs have them, filled like a bell. */
function exponentialBell(): Bins {
  const positive: number[] = [];
  for (let edge = 1e-12; edge < 4; edge *= 1.1) positive.push(edge);
  const edges = [...positive.map((edge) => -edge).reverse(), 0, ...positive];
  const counts = edges.slice(1).map((to, at) => {
    const from = edges[at]!;
    return 10_000 * (to - from) * Math.exp(-(((from + to) / 2) ** 2) / 2);
  });
  return binsOf(edges, counts);
}

describe("binsOf", () => {
  it("takes edges and counts apart", () => {
    const bins = binsIn(Float64Array.from([0, 1, 3, 10, 20]));
    expect([...bins.edges]).toEqual([0, 1, 3]);
    expect([...bins.counts]).toEqual([10, 20]);
  });
});

describe("filledSpan", () => {
  it("leaves empty bins at the ends out", () => {
    expect(filledSpan([binsOf([-1e308, 0, 1, 2, 1e308], [0, 3, 4, 0])])).toEqual({ low: 0, high: 2 });
  });

  it("has an extent where all values are alike, and where there are none", () => {
    expect(filledSpan([binsOf([3, 3], [5])])).toEqual({ low: 2.5, high: 3.5 });
    expect(filledSpan([binsOf([0], [])])).toEqual({ low: 0, high: 1 });
  });
});

describe("drawnIn", () => {
  it("brings edges that reach beyond the values back to them", () => {
    expect([...drawnIn(binsOf([-1e308, 0, 1e308], [3, 4]), -2, 5).edges]).toEqual([-2, 0, 5]);
    expect([...drawnIn(binsOf([0, 1], [1]), null, null).edges]).toEqual([0, 1]);
  });
});

describe("evenBins", () => {
  it("shares counts out by overlap, and loses none", () => {
    const even = evenBins(binsOf([0, 1, 4], [10, 30]), { low: 0, high: 4 }, 2);
    expect([...even.counts]).toEqual([20, 20]);
    expect([...even.edges]).toEqual([0, 2, 4]);
  });

  it("puts a bin without width into one, also at the upper end", () => {
    const even = evenBins(binsOf([0, 0, 4, 4], [7, 0, 5]), { low: 0, high: 4 }, 4);
    expect([...even.counts]).toEqual([7, 0, 0, 5]);
  });

  it("keeps the number of values for any edges", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const edges = Array.from({ length: 30 }, (_, at) => Math.sinh(((at * seed) % 31) - 15)).sort((a, b) => a - b);
      const bins = binsOf(edges, edges.slice(1).map((_, at) => (at * seed) % 7));
      const even = evenBins(bins, filledSpan([bins]), 40);
      expect(sum(even.counts)).toBeCloseTo(sum(bins.counts), 8);
    }
  });

  it("bears edges whose distance is no number", () => {
    const span = { low: -1.7e308, high: 1.7e308 };
    expect([...evenBins(binsOf([-1.7e308, 1.7e308], [8]), span, 4).counts]).toEqual([2, 2, 2, 2]);
  });
});

describe("drawnBars", () => {
  it("leaves bins that can be seen as they were logged, as high as they are dense", () => {
    const { bars, isEven } = drawnBars(binsOf([0, 1, 4], [10, 60]), { low: 0, high: 4 });
    expect(isEven).toBe(false);
    expect(bars.map(({ height }) => height)).toEqual([0.5, 1]);
    expect(bars.map(({ count }) => count)).toEqual([10, 60]);
  });

  it("shows a bell as a bell, also from bins that grow by a tenth", () => {
    const bins = exponentialBell();
    const { bars, isEven } = drawnBars(bins, filledSpan([bins]));
    expect(isEven).toBe(true);
    const heightAt = (value: number): number => bars.find(({ from, to }) => from <= value && value < to)!.height;
    expect(heightAt(0)).toBeGreaterThan(0.95);
    expect(heightAt(1)).toBeCloseTo(Math.exp(-0.5), 1);
    expect(heightAt(-2)).toBeCloseTo(Math.exp(-2), 1);
  });

  it("draws few bars of a million bins", () => {
    const edges = Array.from({ length: 1_000_001 }, (_, at) => at);
    const bins = binsOf(edges, edges.slice(1).map(() => 1));
    const { bars } = drawnBars(bins, filledSpan([bins]));
    expect(bars.length).toBe(100);
    expect(sum(bars.map(({ count }) => count))).toBeCloseTo(1_000_000, 3);
  });
});
