import { describe, expect, it } from "vitest";
import { type Metric, nearestTo } from "../../../src/stage3d/points/store";

function made(count: number, numDims: number): Float32Array {
  return Float32Array.from({ length: count * numDims }, (_, at) => Math.sin(at * 12.9898) * 43758.5453 % 1);
}

/** Slowly, and in another way. */
function bruteForce(matrix: Float32Array, numDims: number, from: number, metric: Metric): number[] {
  const row = (point: number): number[] => [...matrix.subarray(point * numDims, (point + 1) * numDims)];
  const length = (vector: readonly number[]): number => Math.hypot(...vector);
  const distance = (point: number): number => {
    const [a, b] = [row(from), row(point)];
    if (metric === "euclidean") return length(a.map((part, at) => part - b[at]!));
    return 1 - a.reduce((sum, part, at) => sum + part * b[at]!, 0) / (length(a) * length(b));
  };
  return Array.from({ length: matrix.length / numDims }, (_, point) => point)
    .filter((point) => point !== from)
    .sort((a, b) => distance(a) - distance(b) || a - b);
}

describe("nearestTo", () => {
  const matrix = made(400, 6);
  const hasPlace = new Uint8Array(400).fill(1);

  it.each(["euclidean", "cosine"] as const)("finds the same as measuring all of them does: %s", (metric) => {
    for (const from of [0, 17, 399]) {
      const found = nearestTo(matrix, 6, hasPlace, from, 25, metric);
      expect(found.map(({ point }) => point)).toEqual(bruteForce(matrix, 6, from, metric).slice(0, 25));
    }
  });

  it("gives true distances, nearest first", () => {
    const found = nearestTo(Float32Array.from([0, 0, 3, 4, 1, 0]), 2, new Uint8Array(3).fill(1), 0, 5, "euclidean");
    expect(found).toEqual([
      { point: 2, distance: 1 },
      { point: 1, distance: 5 },
    ]);
  });

  it("leaves out points that have no place, and gives none for such a point", () => {
    const some = Uint8Array.from(hasPlace, (_, at) => (at === 3 ? 0 : 1));
    expect(nearestTo(matrix, 6, some, 0, 399, "cosine").map(({ point }) => point)).not.toContain(3);
    expect(nearestTo(matrix, 6, some, 3, 10, "cosine")).toEqual([]);
  });

  it("puts a point at the origin at a right angle to all", () => {
    const found = nearestTo(Float32Array.from([1, 0, 0, 0, -1, 0]), 2, new Uint8Array(3).fill(1), 0, 2, "cosine");
    expect(found).toEqual([
      { point: 1, distance: 1 },
      { point: 2, distance: 2 },
    ]);
  });

  it("keeps the order of the list among equals", () => {
    const equal = new Float32Array(20).fill(1);
    const found = nearestTo(equal, 2, new Uint8Array(10).fill(1), 4, 3, "euclidean");
    expect(found.map(({ point }) => point)).toEqual([0, 1, 2]);
  });
});
