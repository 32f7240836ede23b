import { describe, expect, it } from "vitest";
import { ticksOfAxis } from "../../src/plot/scalars/model";
import {
  clockTicks,
  durationTicks,
  formatDuration,
  formatTicks,
  linearTicks,
  logTicks,
  niceSpan,
  shortNumber,
} from "../../src/plot/ticks";
import { randoms } from "./scalars/samples";

describe("ticks of numbers", () => {
  it("are three to five, inside, evenly apart, for any range", () => {
    const random = randoms(3);
    for (let at = 0; at < 300; at++) {
      const size = 10 ** (20 * random() - 10);
      const low = (random() - 0.5) * 10 * size;
      const high = low + size;
      const ticks = linearTicks({ low, high });
      expect(ticks.length, `${low} to ${high}`).toBeGreaterThanOrEqual(3);
      expect(ticks.length, `${low} to ${high}`).toBeLessThanOrEqual(5);
      const gap = ticks[1]! - ticks[0]!;
      ticks.forEach((tick, index) => {
        expect(tick).toBeGreaterThanOrEqual(low - 1e-6 * size);
        expect(tick).toBeLessThanOrEqual(high + 1e-6 * size);
        if (index > 0) expect(tick - ticks[index - 1]!).toBeCloseTo(gap, 5 - Math.log10(size));
      });
      expect(new Set(formatTicks(ticks)).size, formatTicks(ticks).join(" ")).toBe(ticks.length);
    }
  });

  it("are written short", () => {
    const written = (low: number, high: number): string[] => formatTicks(linearTicks({ low, high }));
    expect(written(0, 64_000)).toEqual(["0", "20k", "40k", "60k"]);
    expect(written(0, 0.12)).toEqual(["0", "0.04", "0.08", "0.12"]);
    expect(written(0, 100)).toEqual(["0", "25", "50", "75", "100"]);
    expect(written(-2e-5, 2e-5)).toEqual(["−2e−5", "−1e−5", "0", "1e−5", "2e−5"]);
    expect(written(0, 3_000_000)).toEqual(["0", "1M", "2M", "3M"]);
  });

  it("are no more than there is room for, and few where there is little", () => {
    const random = randoms(7);
    for (let at = 0; at < 300; at++) {
      const size = 10 ** (20 * random() - 10);
      const low = (random() - 0.5) * 10 * size;
      for (const most of [2, 3, 4]) {
        const ticks = linearTicks({ low, high: low + size }, most);
        expect(ticks.length, `${low}, ${size}`).toBeLessThanOrEqual(most);
        expect(ticks.length, `${low}, ${size}`).toBeGreaterThanOrEqual(Math.min(2, most - 1));
      }
    }
  });

  it("are the one value of an axis without extent, and none where there is no number", () => {
    expect(linearTicks({ low: 3, high: 3 })).toEqual([3]);
    expect(linearTicks({ low: NaN, high: 1 })).toEqual([]);
    expect(linearTicks({ low: 0, high: Infinity })).toEqual([]);
  });

  it("have the same decimals on one axis, and a unit only where they are round", () => {
    expect(formatTicks([0, 2.5, 5])).toEqual(["0", "2.5", "5.0"]);
    expect(formatTicks([0.5, 1, 1.5])).toEqual(["0.5", "1.0", "1.5"]);
    expect(formatTicks([11_584, 11_592, 11_600, 11_608])).toEqual(
      ["11 584", "11 592", "11 600", "11 608"].map((text) => text.replace(" ", "\u202f")),
    );
    expect(formatTicks([12_079.37, 12_079.4])).toEqual(["12\u202f079.37", "12\u202f079.40"]);
    expect(formatTicks([10_000, 12_500, 15_000])).toEqual(["10.0k", "12.5k", "15.0k"]);
    expect(formatTicks([-10_500, 0, 10_500])).toEqual(["−10.5k", "0", "10.5k"]);
    expect(formatTicks([2e-5, 2.5e-5])).toEqual(["2.0e−5", "2.5e−5"]);
    expect(formatTicks([0, 2000, 4000])).toEqual(["0", "2000", "4000"]);
    expect(formatTicks([2e15, 4e15])).toEqual(["2e15", "4e15"]);
    expect(formatTicks([])).toEqual([]);
    expect(formatTicks([0.001, 0.01, 0.1])).toEqual(["0.001", "0.01", "0.1"]);
  });

  it("are one short number by itself", () => {
    expect([0, 0.25, 999, 16_000, 1_500_000, -2500, 1e-7].map(shortNumber)).toEqual(
      ["0", "0.25", "999", "16k", "1.5M", "−2.5k", "1e−7"],
    );
  });

  it("widen a range a little, to where ticks are", () => {
    expect(niceSpan({ low: 0.05, high: 2.3 })).toEqual({ low: 0, high: 2.4 });
    const random = randoms(4);
    for (let at = 0; at < 200; at++) {
      const low = 10 * random() - 5;
      const high = low + 10 ** (6 * random() - 3);
      const wide = niceSpan({ low, high });
      expect(wide.low).toBeLessThanOrEqual(low + 1e-9);
      expect(wide.high).toBeGreaterThanOrEqual(high - 1e-9);
      expect((high - low) / (wide.high - wide.low)).toBeGreaterThan(0.8);
    }
  });

  it("do not show losses below nought where there are none", () => {
    expect(niceSpan({ low: 0.001, high: 0.53 }).low).toBe(0);
  });

  it("of a logarithm are powers of ten, or steps between them", () => {
    expect(logTicks({ low: 1e-4, high: 1 })).toEqual([1e-4, 1e-3, 1e-2, 0.1, 1]);
    expect(logTicks({ low: 1e-12, high: 1e12 }).length).toBeLessThanOrEqual(5);
    expect(logTicks({ low: 1, high: 20 })).toEqual([1, 3, 10]);
    expect(formatTicks(logTicks({ low: 1e-6, high: 1e4 }))).toEqual(["1e−6", "0.001", "1", "1000"]);
    const random = randoms(5);
    for (let at = 0; at < 300; at++) {
      const low = 10 ** (12 * random() - 6);
      const high = low * (1.001 + 10 ** (8 * random() - 1));
      const ticks = logTicks({ low, high });
      expect(ticks.length, `${low} to ${high}`).toBeGreaterThanOrEqual(2);
      expect(ticks.length, `${low} to ${high}`).toBeLessThanOrEqual(5);
    }
  });

  it("stand at whole steps only", () => {
    const values = (low: number, high: number): number[] =>
      ticksOfAxis({ low, high, isLog: false }, "step").map(({ value }) => value);
    expect(values(0.3, 2.9)).toEqual([1, 2]);
    expect(values(0, 4)).toEqual([0, 1, 2, 3, 4]);
    for (let high = 5; high < 100; high++) {
      expect(values(0, high).every(Number.isInteger)).toBe(true);
      expect(values(0, high).length).toBeGreaterThan(1);
    }
  });
});

describe("ticks of time", () => {
  it("are round lengths", () => {
    const labels = (high: number): string[] => durationTicks({ low: 0, high }).map(({ label }) => label);
    expect(labels(100)).toEqual(["0", "30\u202fs", "60\u202fs", "90\u202fs"]);
    expect(labels(3600)).toEqual(["0", "15\u202fmin", "30\u202fmin", "45\u202fmin", "60\u202fmin"]);
    expect(labels(50_000)).toEqual(["0", "3\u202fh", "6\u202fh", "9\u202fh", "12\u202fh"]);
    expect(labels(0.004).at(-1)).toBe("0.004\u202fs");
  });

  it("are round times of day, a day by its date", () => {
    const noon = new Date(2026, 10, 16, 12).getTime() / 1000;
    const ticks = clockTicks({ low: noon, high: noon + 3600 });
    expect(ticks.map(({ label }) => label)).toEqual(["12:00", "12:15", "12:30", "12:45", "13:00"]);
    const days = clockTicks({ low: noon, high: noon + 3 * 86_400 });
    expect(days.map(({ label }) => label)).toEqual(["Nov 17", "Nov 18", "Nov 19"]);
  });

  it("are at most five for any range", () => {
    const random = randoms(6);
    for (let at = 0; at < 200; at++) {
      const low = 2e9 * random();
      const high = low + 10 ** (10 * random() - 2);
      for (const ticks of [durationTicks({ low, high }), clockTicks({ low, high })]) {
        expect(ticks.length, `${low} to ${high}`).toBeLessThanOrEqual(5);
        expect(ticks.length, `${low} to ${high}`).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it("are read out in two units", () => {
    expect([12.34, 312, 12_000, 190_000].map(formatDuration)).toEqual([
      "12.3\u202fs",
      "5\u202fmin 12\u202fs",
      "3\u202fh 20\u202fmin",
      "2\u202fd 4\u202fh",
    ]);
  });
});
