import { describe, expect, test } from "vitest";
import type { TensorValues } from "../../src/data/source";
import {
  clampStart,
  crop,
  fullReach,
  gridOf,
  indexOf,
  pageWindow,
  reachOf,
  startFor,
  stripAxis,
  windowOf,
  windowText,
} from "../../src/data/tensor-window";
import { viewOf, windowWith } from "../samples";

/** A tensor whose values are their own places, in a window of it. */
function counted(shape: number[], window: Parameters<typeof windowWith>[0]): TensorValues {
  const view = viewOf(shape, window);
  const { num_tiles, num_rows, num_columns } = view.window;
  const count = num_tiles * num_rows * num_columns;
  const flat = (index: number[]): number => index.reduce((at, place, dim) => at * shape[dim]! + place, 0);
  const values = Float32Array.from({ length: count }, (_, nth) => flat(indexOf(shape, view.window, nth)));
  return { view, values };
}

test("the last dimensions are tiles, rows and columns, and missing ones are one", () => {
  expect(gridOf([2, 8, 16, 4, 5])).toEqual({ itemShape: [2, 8], tiles: 16, rows: 4, columns: 5 });
  expect(gridOf([4, 5])).toEqual({ itemShape: [], tiles: 1, rows: 4, columns: 5 });
  expect(gridOf([5])).toEqual({ itemShape: [], tiles: 1, rows: 1, columns: 5 });
  expect(gridOf([])).toEqual({ itemShape: [], tiles: 1, rows: 1, columns: 1 });
});

test("a window goes to a reach and back unchanged", () => {
  const window = windowWith({
    item: [3, 1],
    first_tile: 2,
    num_tiles: 4,
    first_row: 1,
    row_step: 2,
    num_rows: 5,
  });
  expect(windowOf(reachOf(window))).toEqual(window);
});

describe("a window as Python would write it", () => {
  test.each([
    [[1, 128, 28, 28], { item: [0], first_tile: 17, num_rows: 5, num_columns: 7 }, "[0, 17, 0:5, 0:7]"],
    [[10, 10], { first_row: 2, num_rows: 5, num_columns: 7 }, "[2:7, 0:7]"],
    [[100], { first_column: 35, num_columns: 35 }, "[35:70]"],
    [[], {}, "[]"],
    [[64, 64], { row_step: 4, num_rows: 16, column_step: 2, num_columns: 3 }, "[0:61:4, 0:5:2]"],
  ])("%j", (shape, window, text) => {
    expect(windowText(shape, windowWith(window))).toBe(text);
  });
});

test("the index of every value of a window is where it stands in the tensor", () => {
  const shape = [2, 6, 8, 10];
  const window = windowWith({
    item: [1],
    first_tile: 2,
    num_tiles: 2,
    first_row: 1,
    row_step: 3,
    num_rows: 2,
    column_step: 4,
    num_columns: 3,
  });
  expect(indexOf(shape, window, 0)).toEqual([1, 2, 1, 0]);
  expect(indexOf(shape, window, 5)).toEqual([1, 2, 4, 8]);
  expect(indexOf(shape, window, 11)).toEqual([1, 3, 4, 8]);
});

test("a crop has the very values that a window asked for itself would have", () => {
  const shape = [3, 6, 8, 10];
  const whole = counted(shape, { item: [2], num_tiles: 6, row_step: 2, num_rows: 4, num_columns: 10 });
  for (const window of [
    { item: [2], first_tile: 3, num_tiles: 2, row_step: 2, num_rows: 4, num_columns: 10 },
    {
      item: [2],
      first_tile: 5,
      first_row: 2,
      row_step: 4,
      num_rows: 2,
      first_column: 3,
      column_step: 3,
      num_columns: 2,
    },
    { item: [2], first_row: 6, first_column: 9 },
  ]) {
    expect(crop(whole, windowWith(window))!.values).toEqual(counted(shape, window).values);
  }
});

test("what is not all there is not cropped", () => {
  const whole = counted([3, 6, 8, 10], {
    item: [2],
    num_tiles: 6,
    row_step: 2,
    num_rows: 4,
    num_columns: 10,
  });
  expect(crop(whole, windowWith({ item: [1] }))).toBeNull();
  expect(crop(whole, windowWith({ item: [2], first_row: 1 }))).toBeNull();
  expect(crop(whole, windowWith({ item: [2], first_tile: 6 }))).toBeNull();
  expect(crop(whole, windowWith({ item: [2], first_column: 9, num_columns: 2 }))).toBeNull();
});

test("a tensor with one long dimension is a strip, along whichever it is", () => {
  expect(stripAxis(fullReach([512], []))).toBe("columns");
  expect(stripAxis(fullReach([1, 1000], []))).toBe("columns");
  expect(stripAxis(fullReach([1000, 1], []))).toBe("rows");
  expect(stripAxis(fullReach([1, 512, 1, 1], [0]))).toBe("tiles");
  expect(stripAxis(fullReach([], []))).toBe("columns");
  expect(stripAxis(fullReach([2, 3], []))).toBeNull();
});

test("a page of numbers is five by seven, thirty-five of a strip, and stays in the tensor", () => {
  expect(
    windowText(
      [1, 16, 28, 28],
      pageWindow(fullReach([1, 16, 28, 28], [0]), { tiles: 9, rows: 40, columns: 40 }),
    ),
  ).toBe("[0, 9, 23:28, 21:28]");
  expect(windowText([100], pageWindow(fullReach([100], []), { tiles: 0, rows: 0, columns: 99 }))).toBe(
    "[65:100]",
  );
  expect(windowText([3, 4], pageWindow(fullReach([3, 4], []), { tiles: 5, rows: -3, columns: 2 }))).toBe(
    "[0:3, 0:4]",
  );
});

test("pages of a coarse window go in its steps", () => {
  const reach = reachOf(windowWith({ row_step: 4, num_rows: 10, column_step: 2, num_columns: 20 }));
  expect(windowText([40, 40], pageWindow(reach, { tiles: 0, rows: 5, columns: 1 }))).toBe(
    "[20:37:4, 2:15:2]",
  );
});

test("a start that is no number is the first", () => {
  const reach = fullReach([9, 9], []);
  expect(clampStart(reach, { tiles: Number.NaN, rows: Number.NaN, columns: 1.7 })).toEqual({
    tiles: 0,
    rows: 0,
    columns: 1,
  });
});

test("an index leads to the page that starts there, and one that is not there leads nowhere", () => {
  const shape = [1, 16, 28, 28];
  expect(startFor(fullReach(shape, [0]), shape, [0, 3, 4, 5])).toEqual({ tiles: 3, rows: 4, columns: 5 });
  expect(startFor(fullReach(shape, [0]), shape, [0, 16, 0, 0])).toBeNull();
  expect(startFor(fullReach(shape, [0]), shape, [0, 3, 4])).toBeNull();
  const coarse = reachOf(
    windowWith({ item: [0], num_tiles: 16, row_step: 2, num_rows: 14, num_columns: 28 }),
  );
  expect(startFor(coarse, shape, [0, 3, 4, 5])).toEqual({ tiles: 3, rows: 2, columns: 5 });
  expect(startFor(coarse, shape, [0, 3, 5, 5])).toBeNull();
});
