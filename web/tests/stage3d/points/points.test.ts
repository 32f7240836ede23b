import { describe, expect, it } from "vitest";
import { findPoints } from "../../../src/stage3d/points/PointsPanel";
import { placeLabels, shortened } from "../../../src/stage3d/points/camera";
import { Pace } from "../../../src/stage3d/points/cloud";
import { colouringOf, MOST_COLOURS } from "../../../src/stage3d/points/colours";
import { pngSize, readEmbedding } from "../../../src/stage3d/points/embedding";
import { readRanges, writeRanges } from "../../../src/stage3d/points/store";
import { fitPlaces } from "../../../src/stage3d/points/store";
import type { EmbeddingHead } from "../../../src/wire";

function record(matrix: readonly number[], labels: unknown, head: Partial<EmbeddingHead> = {}) {
  const text = labels === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(labels));
  const buffer = new ArrayBuffer(8 + 4 * matrix.length + text.length);
  new Float32Array(buffer, 8, matrix.length).set(matrix);
  new Uint8Array(buffer, 8 + 4 * matrix.length).set(text);
  const full: EmbeddingHead = {
    kind: "embedding",
    num_points: matrix.length / 2,
    num_dims: 2,
    columns: ["label"],
    matrix_bytes: 4 * matrix.length,
    label_bytes: text.length,
    sprite_bytes: 0,
    sprite_width: 0,
    sprite_height: 0,
    sprites_per_row: 0,
    ...head,
  };
  return { head: full, buffer };
}

describe("readEmbedding", () => {
  it("takes points and labels apart", () => {
    const { head, buffer } = record([1, 2, 3, 4], [["a", "b"]]);
    const made = readEmbedding(head, buffer, 8);
    expect([...made.matrix]).toEqual([1, 2, 3, 4]);
    expect(made.columns).toEqual([{ name: "label", values: ["a", "b"] }]);
    expect(made.sprites).toBeNull();
  });

  it("counts points with NaN or infinity and gives them no place", () => {
    const { head, buffer } = record([1, NaN, 3, 4, Infinity, 0], undefined);
    const made = readEmbedding(head, buffer, 8);
    expect([...made.hasPlace]).toEqual([0, 1, 0]);
    expect(made.numBad).toBe(2);
  });

  it("refuses sizes that are not those of the bytes, however large they are said to be", () => {
    const { head, buffer } = record([1, 2, 3, 4], undefined, { num_points: 2 ** 40 });
    expect(() => readEmbedding(head, buffer, 8)).toThrow(/damaged/);
  });

  it("shows points also where the labels are broken, and says so", () => {
    const { head, buffer } = record([1, 2, 3, 4], [["only one"]]);
    const made = readEmbedding(head, buffer, 8);
    expect(made.columns).toEqual([]);
    expect(made.note).toContain("do not fit");
  });

  it("takes labels that are no text as they would be written", () => {
    const { head, buffer } = record([1, 2, 3, 4, 5, 6], [[1, null, { a: "<b>" }]]);
    expect(readEmbedding(head, buffer, 8).columns[0]!.values).toEqual(["1", "", '{"a":"<b>"}']);
  });
});

describe("colouringOf", () => {
  it("takes few numbers for names, and many for numbers", () => {
    const few = Array.from({ length: 100 }, (_, at) => String(at % 10));
    expect(colouringOf(few).kind).toBe("categories");
    const many = Array.from({ length: 100 }, (_, at) => String(at / 7));
    expect(colouringOf(many)).toMatchObject({ kind: "numbers", low: 0, high: 99 / 7 });
  });

  it("gives names their place in the order that people count in", () => {
    const made = colouringOf(["c10", "c2", "c10", "c1"]);
    expect(made).toMatchObject({ kind: "categories", names: ["c1", "c2", "c10"], counts: [1, 1, 2] });
    expect(made.kind === "categories" && [...made.of]).toEqual([2, 1, 2, 0]);
  });

  it("gives colours to the frequent where they are too few", () => {
    const values = Array.from({ length: MOST_COLOURS + 5 }, (_, at) => [`k${at}`, `k${at}`]).flat();
    const made = colouringOf([...values, "k20", "k20", "x"]);
    expect(made.kind === "categories" && made.names[0]).toBe("k20");
    expect(made.kind === "categories" && made.names.at(-1)).toBe("x");
  });

  it("counts empty labels and NaN as missing among numbers", () => {
    const made = colouringOf(["", "nan", ...Array.from({ length: 30 }, (_, at) => String(at))]);
    expect(made.kind === "numbers" && Number.isNaN(made.values[0])).toBe(true);
    expect(made.kind === "numbers" && made.low).toBe(0);
  });
});

describe("findPoints", () => {
  const columns = [
    { name: "label", values: ["Cat", "dog", "cat fish"] },
    { name: "note", values: ["x", "catalogue", ""] },
  ];

  it("finds a part of a text, in any case of letters", () => {
    expect(findPoints(columns, "label", "cat")).toMatchObject({ points: [0, 2] });
    expect(findPoints(columns, null, "cat")).toMatchObject({ points: [0, 1, 2] });
  });

  it("tells in which columns", () => {
    const found = findPoints(columns, null, "cat");
    const namesOf = (point: number): string[] => found.columnsOf(point).map(({ name }) => name);
    expect([0, 1, 2].map(namesOf)).toEqual([["label"], ["note"], ["label"]]);
  });

  it("finds by globs, and takes nothing for a regular expression", () => {
    expect(findPoints(columns, "label", "^cat$")).toMatchObject({ points: [0] });
    expect(findPoints(columns, "label", "c?t f*h")).toMatchObject({ points: [2] });
    expect(findPoints(columns, "label", "(")).toMatchObject({ points: [] });
  });

  it("finds nothing for nothing", () => {
    expect(findPoints(columns, null, "  ")).toMatchObject({ points: [] });
  });
});

describe("ranges", () => {
  it("come back as they were", () => {
    const points = [0, 1, 2, 7, 9, 10];
    expect(writeRanges(points)).toBe("0-2,7,9-10");
    expect(readRanges(writeRanges(points))).toEqual(points);
    expect(writeRanges([])).toBe("");
    expect(readRanges("")).toEqual([]);
  });

  it("are not made to fill the memory by a text that was changed", () => {
    expect(readRanges("x,1-2-3,-4")).toEqual([]);
    expect(readRanges("0-99999999999999999999").length).toBe(10_000_000);
  });
});

describe("fitPlaces", () => {
  it("brings points around the origin and within one, and keeps their shape", () => {
    const coordinates = Float32Array.from([100, 0, 104, 0, 100, 2, 104, 2]);
    const places = fitPlaces(coordinates, 2, [0, 1], new Uint8Array(4).fill(1));
    expect(Math.hypot(places[0]!, places[1]!)).toBeCloseTo(1, 5);
    expect(places[2]).toBe(0);
    expect((places[3]! - places[0]!) / (places[7]! - places[1]!)).toBeCloseTo(2, 5);
  });

  it("takes the axes that are wanted, and nought for one that is not there", () => {
    const places = fitPlaces(Float32Array.from([-1, 5, 1, 5]), 2, [1, 0, 2], new Uint8Array(2).fill(1));
    expect([...places]).toEqual([0, -1, 0, 0, 1, 0]);
  });
});

describe("placeLabels", () => {
  const size = { width: 400, height: 300 };
  const widthOf = (text: string): number => text.length * 6;

  it("never lets one cover another, but for the strong", () => {
    const labels = Array.from({ length: 30 }, (_, at) => ({ text: "label", x: 100 + at, y: 100, weight: "plain" as const }));
    expect(placeLabels(labels, widthOf, size)).toHaveLength(1);
    expect(placeLabels(labels.map((one) => ({ ...one, weight: "strong" as const })), widthOf, size)).toHaveLength(30);
  });

  it("turns to the left at the right edge", () => {
    const [placed] = placeLabels([{ text: "a long label", x: 390, y: 100, weight: "plain" }], widthOf, size);
    expect(placed!.left).toBeLessThan(390);
  });

  it("writes one short line, whatever the label is", () => {
    expect(shortened("a\n\u202eb\tc")).toBe("a b c");
    expect(Array.from(shortened("😀".repeat(100)))).toHaveLength(28);
  });
});

describe("pngSize", () => {
  it("reads the size that a file declares, and refuses what is no PNG", () => {
    const bytes = new Uint8Array(24);
    bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    new DataView(bytes.buffer).setUint32(16, 640);
    new DataView(bytes.buffer).setUint32(20, 480);
    expect(pngSize(bytes)).toEqual({ width: 640, height: 480 });
    expect(() => pngSize(new Uint8Array(24))).toThrow(/no PNG/);
  });
});

describe("Pace", () => {
  it("draws fewer points while frames are slow, and all again when they are quick", () => {
    const pace = new Pace();
    let now = 0;
    const after = (ms: number): number => pace.affordable(100_000, (now += ms));
    expect(after(10_000)).toBe(100_000);
    for (let frame = 0; frame < 10; frame++) after(200);
    const slow = after(200);
    expect(slow).toBeLessThan(20_000);
    expect(slow).toBeGreaterThan(5000);
    for (let frame = 0; frame < 60; frame++) after(16);
    expect(after(16)).toBe(100_000);
  });

  it("draws few points whole, however slow", () => {
    const pace = new Pace();
    for (let frame = 1; frame < 20; frame++) pace.affordable(2000, frame * 300);
    expect(pace.affordable(2000, 6300)).toBe(2000);
  });
});
