import { expect, test } from "vitest";
import { columnsFor, roomFor } from "../../../src/plot/tensor/Numbers";

const widthOf = (text: string): number => text.length * 6.7;

test("a usual panel has seven columns, a narrow one fewer, and none has less than three", () => {
  expect(columnsFor(320, widthOf)).toBe(7);
  expect(columnsFor(208, widthOf)).toBe(4);
  expect(columnsFor(20, widthOf)).toBe(3);
  expect(columnsFor(2000, widthOf)).toBe(7);
});

test("a usual number has room in every column that is there", () => {
  for (let width = 140; width < 420; width += 7) {
    expect(roomFor(width, columnsFor(width, widthOf))).toBeGreaterThanOrEqual(widthOf("\u22120.000") - 1e-9);
  }
});
