import { expect, test } from "vitest";
import {
  cellAt,
  layOutTiles,
  stripWidth,
  tileCorner,
  tilesPerPage,
} from "../../src/data/tensor-tiles";
import { pictureOf, stepItem } from "../../src/data/tensor-window";
import { viewOf } from "../samples";

const SIZES: [tiles: number, rows: number, columns: number][] = [
  [32, 28, 28],
  [1, 64, 768],
  [3, 224, 224],
  [64, 3, 3],
  [12, 50, 50],
  [1, 1, 1],
  [1, 2000, 3],
  [5, 1, 1],
];

test.each(SIZES)("%d tiles of %d×%d fit the panel", (tiles, rows, columns) => {
  for (const width of [200, 320, 404]) {
    const { size } = layOutTiles(Math.min(tiles, tilesPerPage(rows, columns)), rows, columns, width);
    expect(size.width).toBeLessThanOrEqual(width + 1e-6);
    expect(size.height).toBeLessThanOrEqual(260);
    expect(Math.min(size.width, size.height)).toBeGreaterThan(4);
  }
});

test.each(SIZES)("every cell of %d tiles of %d×%d is found at its middle", (tiles, rows, columns) => {
  const extent = { tiles, rows, columns };
  const layout = layOutTiles(tiles, rows, columns, 320);
  for (const tile of [0, tiles - 1]) {
    const corner = tileCorner(layout, tile);
    for (const [row, column] of [
      [0, 0],
      [rows - 1, columns - 1],
    ] as const) {
      const x = corner.x + ((column + 0.5) / columns) * layout.width;
      const y = corner.y + ((row + 0.5) / rows) * layout.height;
      expect(cellAt(layout, extent, x, y)).toEqual({ tile, row, column });
    }
  }
});

test("a gap, and the place after the last tile, have no cell", () => {
  const layout = layOutTiles(9, 28, 28, 320);
  const extent = { tiles: 9, rows: 28, columns: 28 };
  expect(cellAt(layout, extent, layout.width + 1, 5)).toBeNull();
  const after = tileCorner(layout, 9);
  expect(cellAt(layout, extent, after.x + 2, after.y + 2)).toBeNull();
  expect(cellAt(layout, extent, -1, 2)).toBeNull();
});

test("a line of values is wrapped, and each keeps its place", () => {
  const model = pictureOf(viewOf([1, 1000], { num_columns: 1000 }));
  expect(model.isStrip).toBe(true);
  expect(model.rows * model.columns).toBeGreaterThanOrEqual(1000);
  expect(model.nth(0, 1, 2)).toBe(model.columns + 2);
  expect(stripWidth(1)).toBe(1);
  expect(stripWidth(10)).toBe(10);
});

test("one tile of many is a tile and no strip", () => {
  expect(pictureOf(viewOf([1, 64, 28, 28], { item: [0], num_rows: 28, num_columns: 28 })).isStrip).toBe(
    false,
  );
  expect(pictureOf(viewOf([1, 64, 1, 1], { item: [0], num_tiles: 64 })).isStrip).toBe(true);
});

test("items are counted with the last dimension fastest, and end at both ends", () => {
  expect(stepItem([2, 3], [0, 2], 1)).toEqual([1, 0]);
  expect(stepItem([2, 3], [1, 0], -1)).toEqual([0, 2]);
  expect(stepItem([2, 3], [1, 2], 1)).toBeNull();
  expect(stepItem([2, 3], [0, 0], -1)).toBeNull();
});
