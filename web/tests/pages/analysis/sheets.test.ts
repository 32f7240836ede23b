import { describe, expect, it } from "vitest";
import { planesOf } from "../../../src/pages/analysis/ValuesView";
import { plateSize } from "../../../src/stage3d/network/plates";

describe("the planes of a sample", () => {
  it("have a place for every value, about as wide and as high as there is room", () => {
    for (const [shape, across] of [[[3, 4, 5], 3], [[7, 2], 1], [[2, 3, 4, 5], 3], [[64, 7, 7], 13]] as const) {
      const grid = planesOf(shape, { width: 300, height: 120 });
      const { columns, rows } = plateSize(grid);
      expect(grid.num_units).toBe(shape.reduce((product, size) => product * size, 1));
      expect(grid.tiles_across).toBe(across);
      expect(columns * rows).toBeGreaterThanOrEqual(grid.num_units);
    }
  });
});
