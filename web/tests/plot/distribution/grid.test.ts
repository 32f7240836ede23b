import { expect, test } from "vitest";
import { evenly } from "../../../src/data/collections";
import type { HistogramGrid } from "../../../src/data/requests";
import {
  binEdges,
  binUnder,
  describeCell,
  gridRows,
  heightScale,
  labelledRows,
  rowSpans,
  rowUnder,
} from "../../../src/plot/distribution/Distribution";

const grid: HistogramGrid = {
  steps: [0, 100, 400],
  low: -1,
  high: 1,
  numBins: 4,
  numAll: 3,
  counts: new Float64Array([1, 2, 3, 4, 0, 0, 10, 0, 5, 5, 5, 5]),
};

test("rows are picked evenly, with the first and the last", () => {
  expect(evenly(5, 17)).toEqual([0, 1, 2, 3, 4]);
  expect(evenly(101, 5)).toEqual([0, 25, 50, 75, 100]);
  expect(evenly(7, 1)).toEqual([6]);
  for (const count of [18, 100, 997]) {
    const picked = evenly(count, 17);
    expect(picked).toHaveLength(17);
    expect(new Set(picked).size).toBe(17);
    expect([picked[0], picked.at(-1)]).toEqual([0, count - 1]);
  }
});

test("the most that there is has the height one, and nothing has none", () => {
  for (const isLog of [false, true]) {
    const height = heightScale(grid, isLog);
    expect(height(10)).toBeCloseTo(1);
    expect(height(0)).toBe(0);
    expect(height(5)).toBeGreaterThan(height(2));
  }
  expect(heightScale(grid, false)(5)).toBe(0.5);
  expect(heightScale(grid, true)(5)).toBeGreaterThan(0.5);
  expect(heightScale({ ...grid, counts: new Float64Array(12) }, true)(0)).toBe(0);
});

test("a row reaches halfway to its neighbours, and the rows cover the axis", () => {
  expect(rowSpans([0, 100, 400])).toEqual([
    [0, 0.125],
    [0.125, 0.625],
    [0.625, 1],
  ]);
  expect(rowSpans([7])).toEqual([[0, 1]]);
  expect(rowSpans([])).toEqual([]);
});

test("what lies under a place is the row and the bin there", () => {
  expect([0, 0.124, 0.126, 0.7, 1].map((place) => rowUnder(grid.steps, place))).toEqual([0, 0, 1, 2, 2]);
  expect([-0.1, 0, 0.26, 1, 1.2].map((place) => binUnder(4, place))).toEqual([0, 0, 1, 3, 3]);
});

test("bins join without gaps from the lowest edge to the highest", () => {
  const edges = [0, 1, 2, 3].map((bin) => binEdges(grid, bin));
  expect(edges[0]![0]).toBe(-1);
  expect(edges[3]![1]).toBe(1);
  for (let at = 1; at < 4; at++) expect(edges[at]![0]).toBe(edges[at - 1]![1]);
});

test("a cell says its step, its bin and its count", () => {
  expect(describeCell(grid, 1, 2)).toBe("step 100: 0 to 0.500 · 10");
  expect(describeCell({ ...grid, counts: new Float64Array(12).fill(0.25) }, 0, 0)).toBe(
    "step 0: \u22121 to \u22120.500 · 0.2500",
  );
});

test("the CSV has a row for each bin of each step", () => {
  const rows = gridRows(grid);
  expect(rows).toHaveLength(1 + 3 * 4);
  expect(rows[7]).toEqual([100, 0, 0.5, 10]);
});

test("rows with room have a label each, and of many every second", () => {
  const rows = (count: number, gap: number) => Array.from({ length: count }, (_, at) => [at, at * gap] as const);
  const labelled = (count: number, gap: number) => labelledRows(rows(count, gap)).map(([step]) => step);
  expect(labelled(6, 20)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(labelled(7, 8)).toEqual([0, 2, 4, 6]);
  expect(labelled(6, 8)).toEqual([1, 3, 5]);
  expect(labelled(17, 0)).toEqual([16]);
  expect(labelled(1, 0)).toEqual([0]);
  expect(labelled(0, 0)).toEqual([]);
});
