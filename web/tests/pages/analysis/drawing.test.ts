/** Matrices, trees and plates: what stands where. */
import { describe, expect, it } from "vitest";
import { joinsOf, paintColours, paintKinds, paintPlate, pathOf, roomyAxis } from "../../../src/pages/analysis/ItemViews";
import { pairsOf, sorted, usualScale } from "../../../src/pages/analysis/Similarity";
import { itemName, type Items, labelOf, usualLabels } from "../../../src/pages/analysis/network";
import { movedCell } from "../../../src/plot/Matrix";
import { shareOf } from "../../../src/plot/scale";
import { labelColour, labelShape, stretchesOf } from "../../../src/plot/labels";
import { paintValue, type Palette } from "../../../src/ui/colour-scale";
import type { Grid } from "../../../src/wire";

/** A ramp whose red is the place on it. */
const ramp = Uint8ClampedArray.from({ length: 1024 }, (_, at) => (at % 4 === 0 ? at / 4 : 0));
const inks: Palette = { ramp, danger: [255, 0, 1], surface: [9, 9, 9], none: [7, 8, 9] };
const scale = { map: "seq", low: 0, high: 1 } as const;

function reds(pixels: Uint8ClampedArray): number[] {
  return Array.from({ length: pixels.length / 4 }, (_, at) => pixels[4 * at]!);
}

const items: Items = {
  steps: [4, 4, 6, 6],
  items: [0, 1, 0, 1],
  labels: ["cat", "dog"],
  label_of: [0, 1, 0, 1],
  label_choices: [],
  note: "",
  runId: "a",
  choice: { variable: "Act", scope: "all", step: 6, item: 0, most: 256, labels: "item:" },
};

describe("a matrix", () => {
  const values = Float32Array.from([0, 0.2, 0.4, 0.2, 0, 1, 0.4, 1, Number.NaN]);

  it("has its rows and columns in the order of the items, without those that it has not", () => {
    const found = sorted({ places: [0, 2, 3] }, values, [3, 1, 0, 2]);
    expect(found.places).toEqual([3, 0, 2]);
    expect([...found.values].map((value) => value.toFixed(1))).toEqual(["NaN", "0.4", "1.0", "0.4", "0.0", "0.2", "1.0", "0.2", "0.0"]);
  });

  it("has a scale from its pairs, for an item is always like itself", () => {
    expect(pairsOf(values, 3).range).toEqual({ min: Math.fround(0.2), max: 1 });
    expect(pairsOf(values.subarray(0, 1), 1).range).toBeNull();
  });

  it("joins neighbours of one label", () => {
    expect(stretchesOf([0, 0, 1, 1], 4)).toEqual([
      { label: 0, from: 0, count: 2 },
      { label: 1, from: 2, count: 2 },
    ]);
    expect(stretchesOf([], 2)).toEqual([{ label: undefined, from: 0, count: 2 }]);
  });

  it("is gone through by keys, inside of it and ten times as far with Shift", () => {
    const key = (name: string, shiftKey = false) => ({ key: name, shiftKey });
    expect(movedCell({ row: 0, column: 0 }, key("ArrowUp"), 3, 3)).toEqual({ row: 0, column: 0 });
    expect(movedCell({ row: 0, column: 0 }, key("ArrowDown"), 3, 3)).toEqual({ row: 1, column: 0 });
    expect(movedCell({ row: 1, column: 1 }, key("End"), 3, 5)).toEqual({ row: 1, column: 4 });
    expect(movedCell({ row: 1, column: 1 }, key("ArrowRight", true), 3, 50)).toEqual({ row: 1, column: 11 });
    expect(movedCell(null, key("End"), 3, 3)).toEqual({ row: 0, column: 0 });
    expect(movedCell({ row: 1, column: 1 }, key("a"), 3, 3)).toBeNull();
  });
});

describe("a tree", () => {
  // Leaf 0 stands at the right of the two others, which are joined first.
  const tree = Float64Array.from([1, 2, 0.5, 2, 0, 3, 2, 3]);

  it("joins where its branches stand", () => {
    expect(joinsOf(tree, [2, 0, 1])).toEqual([
      { left: 0, right: 1, leftBase: 0, rightBase: 0, distance: 0.5, count: 2 },
      { left: 0.5, right: 2, leftBase: 0.5, rightBase: 0, distance: 2, count: 3 },
    ]);
  });

  it("is drawn from the height of each branch up to the join and down again", () => {
    const path = pathOf(joinsOf(tree, [2, 0, 1]), (place) => 10 * place, (distance) => 20 - 10 * distance);
    expect(path).toBe("M0.0 20.0V15.0H10.0V20.0M5.0 15.0V0.0H20.0V20.0");
  });
});

describe("a plate", () => {
  const grid: Grid = { num_units: 4, tiles_across: 2, tiles_down: 1, columns: 2, rows: 1, gap: 1, is_colour: false };

  it("has every unit in its cell, and nothing between tiles", () => {
    const { width, height, pixels } = paintPlate(grid, [0, 0.2, 0.4, 1], scale, inks);
    expect([width, height]).toEqual([5, 1]);
    expect(reds(pixels)).toEqual([0, 51, 0, 102, 255]);
    expect(pixels[4 * 2 + 3]).toBe(0);
  });

  it("shows what is not defined in grey and what is infinite as a danger", () => {
    const pixels = new Uint8ClampedArray(8);
    paintValue(pixels, 0, Number.NaN, scale, inks);
    paintValue(pixels, 4, Infinity, scale, inks);
    expect([...pixels]).toEqual([7, 8, 9, 255, 255, 0, 1, 255]);
  });

  it("shows kinds in their colours, and colours as they are", () => {
    const kinds = paintKinds(grid, [1, 0, Number.NaN, 1], [[1, 1, 1], [2, 2, 2]], [3, 3, 3]);
    expect(reds(kinds.pixels)).toEqual([2, 1, 0, 3, 2]);
    const colour: Grid = { num_units: 6, tiles_across: 1, tiles_down: 1, columns: 2, rows: 1, gap: 0, is_colour: true };
    expect([...paintColours(colour, Float32Array.from([0, 1, 0.5, 0, 1, 0])).pixels]).toEqual([0, 128, 255, 255, 255, 0, 0, 255]);
  });
});

describe("labels", () => {
  it("that share a colour have shapes of their own; very many have a place on a ramp", () => {
    const looks = Array.from({ length: 24 }, (_, label) => `${labelColour(label, 24)} ${labelShape(label, 24)}`);
    expect(new Set(looks).size).toBe(24);
    expect([labelColour(0, 100), labelColour(99, 100)]).toEqual(["var(--seq-2)", "var(--seq-9)"]);
  });

  it("are taken where they were written for each item, or from a counter that names the moment", () => {
    const choices = ["counter:epoch", "counter:name", "tensor:labels", "text:classes"].map((key) => ({ key, name: key.replace(/^\w+:/, ""), about: "" }));
    expect(usualLabels(choices, "batch")).toBe("text:classes");
    expect(usualLabels(choices.slice(0, 3), "batch")).toBe("tensor:labels");
    expect(usualLabels(choices.slice(0, 2), "batch")).toBe("");
    expect(usualLabels(choices.slice(0, 2), "moments")).toBe("counter:name");
    expect(usualLabels(choices.slice(0, 1), "all")).toBe("");
  });

  it("and names of items say what tells them apart", () => {
    expect([itemName(items, 3), labelOf(items, 3)]).toEqual(["step 6, item 1", "dog"]);
    expect(itemName({ ...items, choice: { ...items.choice, scope: "moments" } }, 2)).toBe("step 6");
    expect(itemName({ ...items, choice: { ...items.choice, scope: "batch" } }, 1)).toBe("item 1");
    expect(labelOf({ ...items, label_of: [] }, 0)).toBe("");
  });
});

describe("the scale of likeness", () => {
  it("reaches to that of an item with itself, and that of distances to the largest", () => {
    const range = { min: 0.2, max: 0.951 };
    for (const kind of ["correlation", "cosine"] as const) expect(usualScale(kind, range)).toEqual({ map: "div", low: -1, high: 1 });
    expect(usualScale("euclidean", range)).toEqual({ map: "seq", low: 0, high: 0.951 });
  });
});

describe("an axis", () => {
  it("leaves room beside the outermost points, and holds where all are the same", () => {
    const { low, high } = roomyAxis([0, 10]);
    expect([low < 0, high > 10]).toEqual([true, true]);
    expect(shareOf(roomyAxis([3, 3]), 3)).toBeCloseTo(0.5);
  });
});
