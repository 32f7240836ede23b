import { describe, expect, it } from "vitest";
import { type Asked, Refusal, type Reply, type Source } from "../../../src/data/source";
import {
  cellBlocks,
  type CellColumn,
  gridFor,
  scalesFor,
  shownSize,
} from "../../../src/pages/control/tables/tensor-cells";
import { paintUnits } from "../../../src/stage3d/network/item-pictures";
import type { Palette, Rgb } from "../../../src/ui/colour-scale";
import type { Grid, NetLayer } from "../../../src/wire";
import { gridWith } from "../../network-samples";

type CellsQuestion = Extract<Asked, { type: "table_cells" }>;

const COLUMN: CellColumn = { runId: "a", record: "1", name: "hidden", numRows: 100, shape: [4] };

/** Row r has the values 4 r to 4 r + 3, after eight bytes of something else. */
function replyTo({ first_row, num_rows }: CellsQuestion): Reply {
  const buffer = new ArrayBuffer(8 + 16 * num_rows);
  new Float32Array(buffer, 8).set(Array.from({ length: 4 * num_rows }, (_, at) => 4 * first_row + at));
  return { answer: { type: "table_cells", id: 1, num_rows, shape: [4], low: -1, high: 400 }, buffer, offset: 8 };
}

function blocksOf(answer: (question: CellsQuestion) => Promise<Reply>) {
  const asked: CellsQuestion[] = [];
  let numHeard = 0;
  const ask = (question: Asked): Promise<Reply> => {
    asked.push(question as CellsQuestion);
    return answer(question as CellsQuestion);
  };
  const blocks = cellBlocks({ ask } as Source, () => (numHeard += 1));
  return { blocks, asked, heard: () => numHeard };
}

const settled = (): Promise<void> => new Promise((done) => void setTimeout(done));

describe("tensors in cells", () => {
  it("are asked for where they are in view, once, and only as far as there are rows", async () => {
    const { blocks, asked, heard } = blocksOf((question) => Promise.resolve(replyTo(question)));
    blocks.want([{ column: COLUMN, row: 97 }, { column: COLUMN, row: 99 }]);
    expect(blocks.at({ column: COLUMN, row: 97 })).toBeNull();
    await settled();
    expect(asked).toMatchObject([{ record: "1", column: "hidden", first_row: 96, num_rows: 4 }]);
    expect([...blocks.at({ column: COLUMN, row: 99 })!.values]).toEqual([396, 397, 398, 399]);
    expect(blocks.limits(COLUMN)).toEqual({ low: -1, high: 400 });
    expect(heard()).toBe(1);
    blocks.want([{ column: COLUMN, row: 98 }]);
    await settled();
    expect(asked).toHaveLength(1);
  });

  it("that cannot be read say why, and are not asked for again", async () => {
    const { blocks, asked } = blocksOf(() => Promise.reject(new Refusal("they were thinned out.")));
    blocks.want([{ column: COLUMN, row: 0 }]);
    await settled();
    blocks.want([{ column: COLUMN, row: 0 }]);
    await settled();
    expect(asked).toHaveLength(1);
    expect(blocks.at({ column: COLUMN, row: 0 })?.refusal).toBe("they were thinned out.");
  });

  it("of fewer bytes than they have numbers are damaged", async () => {
    const { blocks } = blocksOf((question) => Promise.resolve({ ...replyTo(question), buffer: new ArrayBuffer(16) }));
    blocks.want([{ column: COLUMN, row: 0 }]);
    await settled();
    expect(blocks.at({ column: COLUMN, row: 0 })?.refusal).toContain("damaged");
  });

  it("are left alone where somebody has scrolled on meanwhile", async () => {
    const { blocks, asked } = blocksOf((question) => Promise.resolve(replyTo(question)));
    const many = { ...COLUMN, numRows: 1000 };
    blocks.want(Array.from({ length: 1000 }, (_, row) => ({ column: many, row })));
    blocks.want([{ column: many, row: 900 }]);
    await settled();
    expect(asked.map(({ first_row }) => first_row)).toEqual([0, 32, 64, 896]);
  });
});

const RAMP = new Uint8ClampedArray(Array.from({ length: 1024 }, (_, at) => (at % 4 === 3 ? 255 : Math.floor(at / 4))));
const PALETTE: Palette = { ramp: RAMP, danger: [200, 0, 0] as Rgb, surface: [255, 255, 255] as Rgb, none: [128, 128, 128] as Rgb };
const SCALE = { map: "seq", low: 0, high: 1 } as const;

function paintCell(values: Float32Array, grid: Grid) {
  return paintUnits((unit) => values[unit] ?? NaN, grid, SCALE, PALETTE, 128);
}

describe("the picture of a tensor", () => {
  it("has a pixel for each unit, on the grid of its shape, and nothing after the last", () => {
    const grid = gridWith({ num_units: 17, columns: 5, rows: 4 });
    const { width, height, pixels } = paintCell(Float32Array.from({ length: 17 }, (_, at) => at / 16), grid);
    expect([width, height]).toEqual([5, 4]);
    expect(Array.from({ length: 20 }, (_, at) => pixels[4 * at + 3])).toEqual([...Array<number>(17).fill(255), 0, 0, 0]);
    expect([pixels[0], pixels[4 * 8], pixels[4 * 16]]).toEqual([0, 128, 255]);
  });

  it("shows what is no number in the colour of danger", () => {
    const { pixels } = paintCell(Float32Array.of(NaN, Infinity), gridWith({ num_units: 2, columns: 2, rows: 1 }));
    expect([...pixels.subarray(0, 3)]).toEqual([200, 0, 0]);
    expect([...pixels.subarray(4, 7)]).toEqual([200, 0, 0]);
  });

  it("of three maps that go in is in colour", () => {
    const values = Float32Array.from([0, 1, 0.5, 0, 1, 1]); // two pixels: red 0 1, green .5 0, blue 1 1
    const { pixels } = paintCell(values, gridWith({ num_units: 6, columns: 2, rows: 1, is_colour: true }));
    expect([...pixels]).toEqual([0, 128, 255, 255, 255, 0, 255, 255]);
  });

  it("is as large as there is room, with whole pixels for each unit", () => {
    expect(shownSize(gridWith({ num_units: 10, columns: 10, rows: 1 }), { width: 96, height: 28 })).toEqual({ width: 80, height: 8 });
    expect(shownSize(gridWith({ num_units: 196, columns: 14, rows: 14 }), { width: 96, height: 28 })).toEqual({ width: 28, height: 28 });
    expect(shownSize(gridWith({ num_units: 90_000, columns: 300, rows: 300 }), { width: 96, height: 28 })).toEqual({ width: 28, height: 28 });
  });

  it("stands on the grid that its layer has in the network, where that is as large", () => {
    const grid = gridWith({ num_units: 24, columns: 3, rows: 8 });
    const [own, other] = [24, 25].map((num_units) => gridWith({ num_units, columns: num_units, rows: 1 }));
    const scene = { layers: [{ name: "out", grid, is_input: false } as NetLayer], connections: [] };
    expect(gridFor("out", own!, scene)).toBe(grid);
    expect(gridFor("Output", own!, scene)).toBe(grid);
    expect(gridFor("out", other!, scene)).toBe(other);
  });
});

describe("the colours of a column", () => {
  it("are those of both where an output is compared with its target", () => {
    const [over, under] = scalesFor([{ low: 0.1, high: 0.8 }, { low: 0, high: 1 }]);
    expect(over).toEqual({ map: "seq", low: 0, high: 1 });
    expect(under).toEqual(over);
  });

  it("are its own where scores stand beside ones and zeros", () => {
    expect(scalesFor([{ low: -9, high: 5 }, { low: 0, high: 1 }])).toEqual([
      { map: "div", low: -9, high: 9 },
      { map: "seq", low: 0, high: 1 },
    ]);
  });

  it("are not known before anything has come", () => {
    expect(scalesFor([null, null])).toEqual([null, null]);
  });
});
