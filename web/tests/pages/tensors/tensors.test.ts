import { describe, expect, it } from "vitest";
import type { TensorValues } from "../../../src/data/source";
import { keyStep, moved, nearestAt } from "../../../src/data/time-steps";
import { differenceOf } from "../../../src/pages/tensors/CompareColumns";
import { npyOf } from "../../../src/pages/tensors/Downloads";
import { nameRows } from "../../../src/pages/tensors/TensorsPage";
import { largestWindow, windowCsv, windowShape } from "../../../src/pages/tensors/store";
import { figureOf, withSign } from "../../../src/plot/over-time";
import { fitting } from "../../../src/plot/tensor/useTensor";
import type { RecordListing, TensorView, Window } from "../../../src/wire";

function windowOf(rows: number, columns: number, tiles = 1): Window {
  return {
    item: [],
    first_tile: 0,
    num_tiles: tiles,
    first_row: 0,
    row_step: 1,
    num_rows: rows,
    first_column: 0,
    column_step: 1,
    num_columns: columns,
  };
}

function tensor(shape: readonly [number, number], values: readonly number[]): TensorValues {
  const view: TensorView = {
    shape: [...shape],
    dtype: "float32",
    num_elements: values.length,
    mean: 0,
    std: 0,
    min: 0,
    max: 0,
    num_zeros: 0,
    num_nan: 0,
    num_inf: 0,
    histogram: [],
    histogram_low: 0,
    histogram_high: 0,
    window: windowOf(shape[0], shape[1]),
    encoding: "f4",
    note: "",
  };
  return { view, values: Float32Array.from(values) };
}

describe("npyOf", () => {
  it("writes what numpy.load reads: magic, header at a multiple of 64, numbers", () => {
    const file = npyOf(Float32Array.from([1, 2, 3, 4, 5, 6]), [2, 3]);
    const bytes = new Uint8Array(file);
    expect([...bytes.subarray(0, 8)]).toEqual([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]);
    const length = new DataView(file).getUint16(8, true);
    expect((10 + length) % 64).toBe(0);
    const header = new TextDecoder().decode(bytes.subarray(10, 10 + length));
    expect(header).toMatch(/^\{'descr': '<f4', 'fortran_order': False, 'shape': \(2, 3\), \} *\n$/);
    expect([...new Float32Array(file.slice(10 + length))]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("writes vectors and single numbers with the shape that Python knows", () => {
    const headerOf = (shape: number[]): string => new TextDecoder().decode(npyOf(new Float64Array(1), shape));
    expect(headerOf([1])).toContain("'descr': '<f8', 'fortran_order': False, 'shape': (1,), }");
    expect(headerOf([])).toContain("'shape': (), }");
  });
});

describe("differenceOf", () => {
  it("takes one from the other, value by value", () => {
    const made = differenceOf(tensor([2, 2], [1, 2, 3, 4]), tensor([2, 2], [1, 1, 5, 0]))!;
    expect([...made.between.values]).toEqual([0, 1, -2, 4]);
    expect(made.largest).toBe(4);
    expect(made.between.view).toMatchObject({ min: -2, max: 4, mean: 0.75, num_zeros: 1 });
    expect(made.between.view.histogram.reduce((sum, count) => sum + count, 0)).toBe(4);
  });

  it("knows what goes together and what against each other", () => {
    const a = tensor([1, 4], [1, 2, 3, 4]);
    expect(differenceOf(a, tensor([1, 4], [2, 4, 6, 8]))!.correlation).toBeCloseTo(1, 12);
    expect(differenceOf(a, tensor([1, 4], [4, 3, 2, 1]))!.correlation).toBeCloseTo(-1, 12);
    expect(differenceOf(a, tensor([1, 4], [5, 5, 5, 5]))!.correlation).toBeNull();
  });

  it("leaves out of the figures what is no number, and counts it", () => {
    const made = differenceOf(tensor([1, 4], [1, NaN, Infinity, 2]), tensor([1, 4], [0, 0, Infinity, 1]))!;
    expect(made.numCompared).toBe(2);
    expect(made.largest).toBe(1);
    expect(made.between.view.num_nan).toBe(2);
  });

  it("compares nothing of different shapes", () => {
    expect(differenceOf(tensor([1, 4], [1, 2, 3, 4]), tensor([2, 2], [1, 2, 3, 4]))).toBeNull();
  });
});

describe("nameRows", () => {
  const listed = (names: readonly string[]) => names.map((name) => ({ kind: "tensor", name, numBad: 0 }) as const);
  const rows = (names: readonly string[], closed: readonly string[] = []) =>
    nameRows(listed(names), new Set(closed)).map(({ title, level, leaf }) => [title, level, leaf !== null]);

  it("puts names under what they begin with, and writes lonely groups together with what is in them", () => {
    expect(rows(["layer1.0.conv.weight", "layer1.0.conv.bias", "fc.weight"])).toEqual([
      ["layer1.0.conv.", 0, false],
      ["weight", 1, true],
      ["bias", 1, true],
      ["fc.weight", 0, true],
    ]);
  });

  it("shows nothing of what is closed", () => {
    expect(rows(["a/x", "a/y", "b"], ["a/"])).toEqual([
      ["a/", 0, false],
      ["b", 0, true],
    ]);
  });

  it("keeps every name, however odd", () => {
    const odd = ["", ".", "a..b", "/a/", "a.b", "a.b.c", "<img>"];
    const leaves = nameRows(listed(odd), new Set()).flatMap(({ leaf }) => (leaf === null ? [] : [leaf.name]));
    expect([...leaves].sort()).toEqual([...odd].sort());
  });
});

describe("figures over time", () => {
  const histogram = {
    kind: "histogram" as const,
    num_bins: 2,
    num: 4,
    min: -1,
    max: 3,
    sum: 4,
    sum_squares: 12,
    num_nan: 1,
    num_inf: 0,
    is_sample: false,
  };
  const listing = (head: RecordListing["head"]): RecordListing => ({
    record: "a:1",
    step: 7,
    time: 0,
    num_bytes: 0,
    head,
  });

  it("come from a histogram's sums", () => {
    expect(figureOf(listing(histogram))).toMatchObject({ step: 7, mean: 1, std: Math.SQRT2, zeros: null, numNan: 1 });
    expect(figureOf(listing({ ...histogram, num: 0, sum: null }))).toMatchObject({ mean: null, std: null });
  });

  it("of a sample have a sign", () => {
    const [whole, sampled] = [figureOf(listing(histogram))!, figureOf(listing({ ...histogram, is_sample: true }))!];
    expect([withSign(whole, "mean", "1"), withSign(sampled, "mean", "1")]).toEqual(["1", "\u2248 1"]);
  });
});

describe("the time bar", () => {
  it("goes no further than the ends", () => {
    expect(moved(5, 3, 10)).toBe(4);
    expect(moved(5, 3, -10)).toBe(0);
  });

  it("knows its keys", () => {
    const press = (key: string, shiftKey = false) => keyStep({ key, shiftKey }, 50, 100);
    expect(press("ArrowLeft")).toBe(49);
    expect(press("ArrowRight", true)).toBe(60);
    expect(press("Home")).toBe(0);
    expect(press("End")).toBe(99);
    expect(press(" ")).toBe("play");
    expect(press("f")).toBe("follow");
    expect(press("q")).toBeNull();
  });

  it("finds the record nearest to a step", () => {
    const moments = [0, 10, 40].map((step) => ({ step, time: 0 }));
    expect(nearestAt(moments, 24)).toBe(1);
    expect(nearestAt(moments, 26)).toBe(2);
    expect(nearestAt([], 3)).toBe(-1);
  });
});

describe("windows", () => {
  it("are whole where there is room for all", () => {
    const coarse = { ...windowOf(10, 10), row_step: 5 };
    expect(largestWindow([100, 100], [], coarse)).toMatchObject({ num_rows: 100, num_columns: 100, row_step: 1 });
    expect(largestWindow([3, 4000, 4000], [], coarse)).toMatchObject({ row_step: 5 });
  });

  it("have as many dimensions as their tensor", () => {
    expect(windowShape([], windowOf(1, 1))).toEqual([]);
    expect(windowShape([7], windowOf(1, 7))).toEqual([7]);
    expect(windowShape([9, 2, 3, 4], windowOf(3, 4, 2))).toEqual([2, 3, 4]);
  });

  it("become lines with the index of each value", () => {
    expect(windowCsv(tensor([2, 2], [1, 2, 3, 4]))).toBe(
      "index_0,index_1,value\r\n0,0,1\r\n0,1,2\r\n1,0,3\r\n1,1,4\r\n",
    );
  });

  it("keep the item that was chosen while the tensor has it", () => {
    const { view } = tensor([2, 2], [1, 2, 3, 4]);
    const batch = { ...view, shape: [4, 3, 2, 2], window: { ...view.window, item: [0] } };
    expect(fitting([3], batch)).toEqual([3]);
    expect(fitting([4], batch)).toEqual([0]);
    expect(fitting([1, 1], batch)).toEqual([0]);
    expect(fitting(null, batch)).toEqual([0]);
  });
});
