import { describe, expect, it } from "vitest";
import { sheetOf } from "../../../src/pages/analysis/ValuesView";

describe("the planes of a sample", () => {
  it("puts every value at a place of its own, inside the picture", () => {
    for (const shape of [[3, 4, 5], [7, 2], [2, 3, 4, 5], [1, 1, 1]]) {
      const sheet = sheetOf(shape, { width: 400, height: 100 });
      const count = shape.reduce((product, size) => product * size, 1);
      const places = Array.from({ length: count }, (_, at) => sheet.placeOf(at));
      expect(new Set(places).size).toBe(count);
      expect(Math.max(...places)).toBeLessThan(sheet.width * sheet.height);
    }
  });

  it("keeps the rows of a plane under each other", () => {
    const sheet = sheetOf([3, 4, 5], { width: 400, height: 100 });
    expect(sheet.placeOf(5) - sheet.placeOf(0)).toBe(sheet.width);
    expect(sheet.placeOf(21) - sheet.placeOf(20)).toBe(1);
  });

  it("has room for all of it", () => {
    const sheet = sheetOf([64, 7, 7], { width: 300, height: 120 });
    expect(sheet.width * sheet.cell).toBeLessThanOrEqual(300.001);
    expect(sheet.height * sheet.cell).toBeLessThanOrEqual(120.001);
  });
});
