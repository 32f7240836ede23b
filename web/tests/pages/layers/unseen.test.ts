import { describe, expect, it } from "vitest";
import { frequencyText } from "../../../src/pages/layers/LayersPage";
import { linesOf, TALL, UNSEEN } from "../../../src/pages/layers/rows";
import { alarmValue, neverSeen } from "../../../src/pages/layers/watched";
import { gridWith, marked, rowWith } from "./samples";

const NOBODY: ReadonlySet<string> = new Set();

describe("rows that were never seen", () => {
  const grid = gridWith([
    [1, NaN],
    [NaN, NaN],
    [NaN, NaN],
  ]);

  it("have nothing at any step, also no mark", () => {
    expect(neverSeen(grid, true, NOBODY)).toEqual(new Set(["row1", "row2"]));
    expect(neverSeen(marked(grid, 3), true, NOBODY)).toEqual(new Set(["row2"]));
  });

  it("are not those that have nothing in a part of the steps, unless nobody knows their shape", () => {
    expect(neverSeen(grid, false, NOBODY)).toEqual(NOBODY);
    const rows = [rowWith("row0"), rowWith("row1", { shape: null }), rowWith("row2")];
    expect(neverSeen({ ...grid, rows }, false, NOBODY)).toEqual(new Set(["row1"]));
  });

  it("stay so in a part of the steps, until they are seen", () => {
    expect(neverSeen(grid, false, new Set(["row1"]))).toEqual(new Set(["row1"]));
    expect(neverSeen(grid, false, new Set(["row0"]))).toEqual(NOBODY);
  });

  it("are nobody before the first step", () => {
    expect(neverSeen(gridWith([[], []]), true, NOBODY)).toEqual(NOBODY);
  });

  it("stand in one group at the end, with their whole names", () => {
    const rows = [rowWith("a.Grad", { layer: "a", variable: "Grad", role: "gradient" }), rowWith("b.Act", { layer: "b" })];
    const unseen = new Set(["a.Grad"]);
    const open = linesOf(rows, { filter: "", closed: NOBODY, unseen }, TALL);
    expect(open.all.map((line) => (line.kind === "group" ? line.title : line.label))).toEqual([
      ...["Activations", "b", "1 row was never seen", "a.Grad"],
    ]);
    const shut = linesOf(rows, { filter: "", closed: new Set([UNSEEN]), unseen }, TALL);
    expect(shut.rows.map(({ row }) => row.name)).toEqual(["b.Act"]);
    expect(shut.all.at(-1)).toMatchObject({ isOpen: false, count: 1 });
  });
});

describe("how often somebody wanted to watch", () => {
  it.each([
    ["20/s", "20 a second wanted"],
    ["0.5 / second", "0.5 a second wanted"],
    ["6/min", "6 a minute wanted"],
    ["2/h", "2 an hour wanted"],
    ["step", "every step wanted"],
    ["1", "every step wanted"],
    ["10 steps", "every 10 steps wanted"],
    ["now and then", "“now and then” wanted"],
    ["", ""],
  ])("%s is said in words", (every, words) => {
    expect(frequencyText(every, "wanted")).toBe(words);
  });
});

describe("the value of an alarm", () => {
  it("is said with what it is", () => {
    expect(alarmValue({ alarm: "exploding_gradient", value: 118 })).toBe("norm 118");
    expect(alarmValue({ alarm: "nan", value: 0.25 })).toMatch(/^25\.0\s?%$/);
    expect(alarmValue({ alarm: "loss_spike", value: 9 })).toMatch(/^9/);
    expect(alarmValue({ alarm: "loss_spike", value: null })).toBe("");
    expect(alarmValue({ alarm: "stuck_weight", value: 0 })).toBe("");
  });
});
