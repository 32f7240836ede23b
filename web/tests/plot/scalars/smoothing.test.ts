import { describe, expect, it } from "vitest";
import { smooth } from "../../../src/plot/scalars/model";
import { randoms } from "./samples";

/** Straight from the definition: a weighted mean of all values so far. */
function reference(values: readonly number[], weight: number): number[] {
  return values.map((_, end) => {
    let [sum, total] = [0, 0];
    let age = 0;
    for (let at = end; at >= 0; at--) {
      if (!Number.isFinite(values[at])) continue;
      sum += weight ** age * values[at]!;
      total += weight ** age;
      age += 1;
    }
    return Number.isFinite(values[end]) ? sum / total : NaN;
  });
}

const ones = (count: number): number[] => new Array<number>(count).fill(1);
const bad = (values: readonly number[]): number[] => values.map((value) => (Number.isFinite(value) ? 0 : 1));

describe("smoothing", () => {
  it("is the weighted mean of what came before", () => {
    const random = randoms(1);
    const values = Array.from({ length: 60 }, () => 5 * random() - 2);
    for (const weight of [0.1, 0.6, 0.99]) {
      const smoothed = smooth(values, ones(60), bad(values), weight);
      reference(values, weight).forEach((value, at) => expect(smoothed[at]).toBeCloseTo(value, 10));
    }
  });

  it("begins with the first value, not with nought", () => {
    expect(smooth([7, 7, 7], ones(3), [0, 0, 0], 0.99)[0]).toBeCloseTo(7, 12);
  });

  it("leaves gaps where values are not finite and goes on after them as if they were not there", () => {
    const values = [1, NaN, 2, Infinity, 3];
    const smoothed = smooth(values, ones(5), bad(values), 0.5);
    const without = smooth([1, 2, 3], ones(3), [0, 0, 0], 0.5);
    expect([...smoothed].map(Number.isFinite)).toEqual([true, false, true, false, true]);
    expect([smoothed[0], smoothed[2], smoothed[4]]).toEqual([...without]);
  });

  it("takes a bucket for as many points as it holds", () => {
    const plain = smooth([1, 4, 4, 4, 2], ones(5), [0, 0, 0, 0, 0], 0.7);
    const gathered = smooth([1, 4, 2], [1, 4, 1], [0, 1, 0], 0.7); // one of the four is NaN
    expect(gathered[1]).toBeCloseTo(plain[3]!, 12);
    expect(gathered[2]).toBeCloseTo(plain[4]!, 12);
  });

  it("stays within what was logged", () => {
    const random = randoms(2);
    const values = Array.from({ length: 200 }, random);
    for (const value of smooth(values, ones(200), bad(values), 0.9)) {
      expect(value).toBeGreaterThanOrEqual(Math.min(...values) - 1e-12);
      expect(value).toBeLessThanOrEqual(Math.max(...values) + 1e-12);
    }
  });
});
