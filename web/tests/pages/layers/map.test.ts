import { describe, expect, it } from "vitest";
import { labelOf, linesBetween, linesOf, rowAt, TALL } from "../../../src/pages/layers/rows";
import { extentOf, scaleFor, scalesOf } from "../../../src/pages/layers/scales";
import {
  figureOf,
  formatFigure,
  gridOf,
  HAS_INF,
  HAS_NAN,
  kindOf,
  readingOf,
  rowsWithAny,
  sentenceOf,
} from "../../../src/pages/layers/watched";
import { type Inks, paintCells, type Picture } from "../../../src/plot/cells";
import { parseHex, placeOn, rampBytes } from "../../../src/ui/colour-scale";
import { gridWith, marked, rowWith } from "./samples";

const AUTO = { log: "auto", limits: null } as const;
const NOTHING_CHOSEN = { filter: "", closed: new Set<string>() };

describe("an answer", () => {
  const answer = {
    ...{ type: "watched" as const, id: 1, ranks: [0], columns: ["norm"], rows: [rowWith("a"), rowWith("b")] },
    ...{ first_steps: [0, 10], last_steps: [9, 19], num_steps: 20, every: "1", got: "" },
  };

  it("has its values, then a byte for each cell", () => {
    const buffer = new ArrayBuffer(8 + 16 + 4);
    new Float32Array(buffer, 8, 4).set([1, 2, NaN, 4]);
    new Uint8Array(buffer, 24).set([0, 1, 0, 2]);
    const grid = gridOf({ answer, buffer, offset: 8 }, "norm");
    expect([...grid!.values]).toEqual([1, 2, NaN, 4]);
    expect([...grid!.marks]).toEqual([0, HAS_NAN, 0, HAS_INF]);
  });

  it("that was cut off is none", () => {
    expect(gridOf({ answer, buffer: new ArrayBuffer(8 + 16), offset: 8 }, "norm")).toBeNull();
  });
});

describe("rows", () => {
  const rows = [
    rowWith("fc.Act", { layer: "fc" }),
    rowWith("conv.weight", { layer: "conv", variable: "weight", role: "weight", module: "Conv2d" }),
    rowWith("conv.weight.Grad", { layer: "conv", variable: "weight.Grad", role: "weight_gradient" }),
    rowWith("conv.Act", { layer: "conv", module: "Conv2d" }),
    rowWith("conv.weight.exp_avg", { layer: "conv", variable: "weight.exp_avg", role: "state" }),
    rowWith("odd", { layer: "odd", variable: "", role: "something new" }),
  ];

  it("stand in groups, in the order in which they came, also those of a role that nobody knows", () => {
    const { all } = linesOf(rows, NOTHING_CHOSEN, TALL);
    expect(all.map((line) => (line.kind === "group" ? `${line.title} ${line.count}` : line.label))).toEqual([
      ...["Activations 2", "fc", "conv", "Weights 1", "conv.weight", "Weight gradients 1", "conv.weight"],
      ...["Optimizer 1", "conv.weight.exp_avg", "something new 1", "odd"],
    ]);
  });

  it("of a closed group, and those without the words of the filter, are not there", () => {
    const { rows: shown } = linesOf(rows, { filter: "CONV2D", closed: new Set(["weight"]) }, TALL);
    expect(shown.map(({ row }) => row.name)).toEqual(["conv.Act"]);
  });

  it("are found by their height, and so is which are in view", () => {
    const { all, rows: shown, height } = linesOf(rows, NOTHING_CHOSEN, TALL);
    for (const line of shown) {
      expect(rowAt(shown, line.top)).toBe(line);
      expect(rowAt(shown, line.top + line.height - 0.1)).toBe(line);
    }
    expect(rowAt(shown, all[0]!.top)).toBeUndefined();
    expect(rowAt(shown, height)).toBeUndefined();
    expect(linesBetween(all, all[1]!.top, all[3]!.top)).toEqual([all[1], all[2]]);
  });

  it("stand below the head of their group, which is as long as they are", () => {
    for (const line of linesOf(rows, NOTHING_CHOSEN, TALL).all) {
      if (line.kind === "group") expect(line.heightOfAll).toBe(TALL.group + line.count * TALL.row);
    }
  });

  it("of the model itself have a name, too", () => {
    expect(labelOf(rowWith(".Act", { layer: "" }))).toBe("(model)");
    expect(labelOf(rowWith("mine", { layer: "", variable: "", role: "tensor" }))).toBe("mine");
  });

  it("with nothing at all are known", () => {
    expect(rowsWithAny(gridWith([[NaN, NaN], [NaN, 0]]))).toEqual([false, true]);
  });
});

describe("a scale", () => {
  const extent = (...values: number[]) => extentOf(Float32Array.from(values), values.length, [0], false);

  it("has zero in its middle for both signs, and at its quiet end for one", () => {
    expect(scaleFor("signed", extent(-2, 5), AUTO)).toEqual({ map: "div", low: -5, high: 5 });
    expect(scaleFor("signed", extent(0.5, 5), AUTO)).toEqual({ map: "seq", low: 0, high: 5 });
  });

  it("is logarithmic for sizes that span decades, with nought at the quiet end", () => {
    const scale = scaleFor("size", extent(0, 0.001, 1000), AUTO);
    expect(scale).toMatchObject({ map: "seq", high: 1000, isLog: true });
    expect(placeOn(scale, 1)).toBeCloseTo(0.5, 5);
    expect(placeOn(scale, 0)).toBe(0);
    expect(placeOn(scale, 1e9)).toBe(1);
    expect(scaleFor("size", extent(0.001, 1000), { ...AUTO, log: "linear" })).not.toHaveProperty("isLog");
    expect(scaleFor("size", extent(-1, 1000), { ...AUTO, log: "log" })).not.toHaveProperty("isLog");
  });

  it("can be fixed", () => {
    const fixed = scaleFor("signed", extent(1, 2), { log: "auto", limits: [-1, 1] });
    expect(fixed).toEqual({ map: "div", low: -1, high: 1, isLog: false });
  });

  it("does not give all of its colours to a single outlier, but a share does", () => {
    const values = Float32Array.from({ length: 1000 }, (_, at) => (at === 500 ? 1e9 : 1 + at / 1000));
    expect(extentOf(values, 1000, [0], true)!.high).toBeLessThan(2);
    expect(extentOf(values, 1000, [0], false)!.high).toBe(1e9);
  });

  it("of values that are all alike, or of none, is still one", () => {
    expect(scaleFor("size", extent(3, 3), AUTO)).toMatchObject({ low: 0, high: 3 });
    expect(scaleFor("share", extent(0, 0), AUTO)).toMatchObject({ low: 0, high: 1 });
    expect(scaleFor("size", null, AUTO)).toMatchObject({ low: 0, high: 1 });
  });

  it("is shared by the rows that stand together", () => {
    const grid = gridWith([[1, 2], [10, 20], [100, 200]]);
    const scales = scalesOf(grid, "size", [[0, 1], [2]], AUTO);
    expect(scales.get(0)).toBe(scales.get(1));
    expect(scales.get(2)!.high).toBe(200);
  });
});

describe("cells", () => {
  const stops = ["#000000", "#FFFFFF"].map(parseHex);
  const inks: Inks = {
    ...{ seq: rampBytes(stops), div: rampBytes(stops) },
    ...{ danger: [200, 0, 0], dangerWeak: [250, 200, 200], surface: [1, 2, 3], missing: [90, 90, 90] },
  };
  const scale = { map: "seq", low: 0, high: 1 } as const;

  function painted(grid: ReturnType<typeof gridWith>, pixels: readonly number[]): Picture {
    const picture = { data: new Uint8ClampedArray(4 * pixels.length * 12), width: pixels.length, height: 12 };
    const { values, marks } = grid;
    const cells = { numColumns: grid.first_steps.length, values, kindOf: (at: number) => kindOf(values[at]!, marks[at]!) };
    paintCells(picture, cells, [{ row: 0, top: 0, height: 12, scale }], Int32Array.from(pixels), inks);
    return picture;
  }

  function column({ data, width, height }: Picture, x: number): Set<string> {
    const found = new Set<string>();
    for (let y = 0; y < height; y++) {
      const at = 4 * (y * width + x);
      found.add([data[at], data[at + 1], data[at + 2]].join());
    }
    return found;
  }

  it("have the colour of their value, hatches for NaN and for nothing, and infinity is solid", () => {
    const grid = marked(marked(gridWith([[0, 1, 0.5, NaN, 0.5]]), 2, HAS_NAN), 4, HAS_INF);
    const picture = painted(grid, [0, 1, 2, 3, 4, -1]);
    expect(column(picture, 0)).toEqual(new Set(["0,0,0"]));
    expect(column(picture, 1)).toEqual(new Set(["255,255,255"]));
    expect(column(picture, 2)).toEqual(new Set(["200,0,0", "250,200,200"]));
    expect(column(picture, 3)).toEqual(new Set(["1,2,3", "90,90,90"]));
    expect(column(picture, 4)).toEqual(new Set(["200,0,0"]));
    expect(column(picture, 5)).toEqual(new Set(["1,2,3", "90,90,90"]));
  });

  it("with NaN are seen also where they have no pixel of their own", () => {
    const picture = painted(marked(gridWith([[0, 0, 0]]), 1), [0, 2]);
    expect(column(picture, 1)).toContain("200,0,0");
  });

  it("are NaN before they are infinite, and both before they are missing", () => {
    expect(kindOf(1, HAS_NAN | HAS_INF)).toBe("nan");
    expect(kindOf(NaN, HAS_INF)).toBe("inf");
    expect(kindOf(NaN, 0)).toBe("missing");
    expect(kindOf(0, 0)).toBe("value");
  });

  it("are drawn with colours as a bundle writes them", () => {
    expect(parseHex("#fff")).toEqual(parseHex("#FFFFFF"));
    expect(parseHex(" #1aF")).toEqual([0x11, 0xaa, 0xff]);
  });
});

describe("a reading", () => {
  it("names row, steps and value", () => {
    const grid = gridWith([[1.23456, NaN]], { first_steps: [0, 10], last_steps: [9, 10] });
    expect(sentenceOf(readingOf(grid, 0, 0)!)).toBe("row0 · steps 0 to 9 · norm 1.2346");
    expect(sentenceOf(readingOf(grid, 0, 1)!)).toBe("row0 · step 10 · not recorded");
    expect(sentenceOf(readingOf(marked(grid, 0), 0, 0)!)).toContain("of the finite values, has NaN");
    expect(readingOf(marked(grid, 1), 0, 1)).toMatchObject({ value: "norm unknown: has NaN", isBad: true });
    expect(readingOf(grid, 0, -1)!.value).toBe("not recorded");
    expect(readingOf(grid, 7, 0)).toBeNull();
  });

  it("knows what kind of number a figure is, also one that is new", () => {
    expect(formatFigure(figureOf("zeros"), 0.25)).toBe("25.0\u202f%");
    expect(figureOf("q25").title).toBe("25 % quantile");
    expect(figureOf("kurtosis")).toMatchObject({ title: "kurtosis", kind: "signed" });
  });
});
