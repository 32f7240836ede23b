import { describe, expect, it } from "vitest";
import { jacobi } from "../../../src/stage3d/points/eigen";
import { atOnce, findAxes, placeOnAxes } from "../../../src/stage3d/points/reduction";

/** Numbers that look random and are always the same. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

function all(count: number): Uint8Array {
  return new Uint8Array(count).fill(1);
}

/** Points whose axes are known: the first unit vectors of a turned space, with these deviations. */
function points(count: number, numDims: number, deviations: readonly number[], offset: number): Float32Array {
  const next = noise(7);
  const matrix = new Float32Array(count * numDims);
  for (let point = 0; point < count; point++) {
    for (let dim = 0; dim < numDims; dim++)
      matrix[point * numDims + dim] = offset + next() * (deviations[dim] ?? 0);
  }
  return matrix;
}

describe("jacobi", () => {
  it("finds the eigenvalues and vectors of a matrix that is known", () => {
    // [[2, 1], [1, 2]]: 3 along (1, 1), 1 along (1, -1).
    const { values, vectors } = jacobi(Float64Array.from([2, 1, 1, 2]), 2);
    expect(values[0]).toBeCloseTo(3, 12);
    expect(values[1]).toBeCloseTo(1, 12);
    expect(Math.abs(vectors[0]!)).toBeCloseTo(Math.SQRT1_2, 12);
    expect(vectors[0]! * vectors[1]!).toBeCloseTo(0.5, 12);
    expect(vectors[2]! * vectors[3]!).toBeCloseTo(-0.5, 12);
  });
});

describe("findAxes", () => {
  it("finds the axis of points on a line, and that it has all of the variance", () => {
    const matrix = Float32Array.from([0, 0, 0, 3, 4, 0, 6, 8, 0, -3, -4, 0]);
    const axes = atOnce(findAxes(matrix, 3, all(4)));
    expect(axes.shares[0]).toBeCloseTo(1, 9);
    expect(axes.vectors[0]).toBeCloseTo(0.6, 6);
    expect(axes.vectors[1]).toBeCloseTo(0.8, 6);
    const places = atOnce(placeOnAxes(matrix, 4, axes));
    const onFirst = [0, 1, 2, 3].map((point) => places[point * axes.shares.length]!);
    expect(onFirst.map((place) => place - onFirst[0]!)).toEqual([0, 5, 10, -5].map((way): unknown => expect.closeTo(way, 4)));
  });

  it("gives shares in falling order that come from the variances, far from the origin too", () => {
    const matrix = points(2000, 5, [10, 5, 2, 1, 0.5], 1000);
    const axes = atOnce(findAxes(matrix, 5, all(2000)));
    const squares = [100, 25, 4, 1, 0.25];
    const total = squares.reduce((sum, square) => sum + square, 0);
    for (const [at, square] of squares.entries())
      expect(Math.abs(axes.shares[at]! - square / total)).toBeLessThan(0.02);
    expect([...axes.shares].sort((a, b) => b - a)).toEqual(axes.shares);
    expect(axes.shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
  });

  it("agrees with itself whether the covariance is made or not", () => {
    // 401 dimensions go through the points; the same points without the last, empty ones through the covariance.
    const deviations = Array.from({ length: 12 }, (_, at) => 12 - at);
    const wide = points(300, 401, deviations, 0);
    const narrow = new Float32Array(300 * 20);
    for (let point = 0; point < 300; point++)
      narrow.set(wide.subarray(point * 401, point * 401 + 20), point * 20);
    const [long, short] = [atOnce(findAxes(wide, 401, all(300))), atOnce(findAxes(narrow, 20, all(300)))];
    for (let axis = 0; axis < 3; axis++) {
      expect(long.shares[axis]).toBeCloseTo(short.shares[axis]!, 5);
      for (let dim = 0; dim < 12; dim++)
        expect(long.vectors[axis * 401 + dim]).toBeCloseTo(short.vectors[axis * 20 + dim]!, 2);
    }
  });

  it("has axes at right angles, of length one", () => {
    const axes = atOnce(findAxes(points(500, 8, [8, 7, 6, 5, 4, 3, 2, 1], 0), 8, all(500)));
    for (let left = 0; left < 8; left++) {
      for (let right = left; right < 8; right++) {
        let sum = 0;
        for (let dim = 0; dim < 8; dim++) sum += axes.vectors[left * 8 + dim]! * axes.vectors[right * 8 + dim]!;
        expect(sum).toBeCloseTo(left === right ? 1 : 0, 9);
      }
    }
  });

  it("leaves out points that have no place", () => {
    const matrix = Float32Array.from([0, 0, 1, 0, NaN, 5, 2, 0]);
    const axes = atOnce(findAxes(matrix, 2, Uint8Array.from([1, 1, 0, 1])));
    expect(axes.numSampled).toBe(3);
    expect(axes.vectors[0]).toBeCloseTo(1, 9);
  });

  it("bears points that are all the same, a single point and none", () => {
    for (const count of [5, 1, 0]) {
      const axes = atOnce(findAxes(new Float32Array(count * 3).fill(2), 3, all(count)));
      expect(axes.shares.every((share) => share === 0)).toBe(true);
      expect(axes.vectors.every(Number.isFinite)).toBe(true);
      const places = atOnce(placeOnAxes(new Float32Array(count * 3).fill(2), count, axes));
      expect([...places].every((place) => Math.abs(place) < 1e-6)).toBe(count > 0 || places.length === 0);
    }
  });
});
