import { describe, expect, test } from "vitest";
import { nearestTrace, traceOf } from "../../../src/pages/parameters/Coordinates";
import { valueText } from "../../../src/pages/parameters/ParametersPage";
import { axisOf, type Column, columnsOf, differs, firstShown } from "../../../src/pages/parameters/columns";
import {
  arranged,
  brushFrom,
  filterOf,
  movedTo,
  passes,
  readBrushes,
  sortRows,
  writeBrushes,
} from "../../../src/pages/parameters/sheet";
import { orderText, readOrder } from "../../../src/ui/sorting";
import type { HparamsRow, RunListing } from "../../../src/wire";

const ROWS: HparamsRow[] = [
  { run_id: "a", hparams: { lr: 0.1, optimizer: "adam", seed: 0 }, metrics: { acc: 0.9 } },
  { run_id: "b", hparams: { lr: 0.001, optimizer: "sgd", seed: 0 }, metrics: { acc: 0.8 } },
  { run_id: "c", hparams: { lr: 0.01, optimizer: "sgd", seed: 0, depth: "deep" }, metrics: { acc: null } },
];
const IDS = ["a", "b", "c"];
const listing = (id: string): RunListing =>
  ({ id, name: `run-${id}`, metrics: [{ name: "loss", value: 1 }] }) as unknown as RunListing;
const RUNS = new Map(IDS.map((id) => [id, listing(id)]));
const columns = columnsOf(ROWS, RUNS);
const column = (key: string): Column => columns.find((one) => one.key === key)!;

describe("columns", () => {
  test("hyperparameters come first, then metrics, then the last values of scalars", () => {
    expect(columns.map(({ key }) => key)).toEqual([
      "h:lr",
      "h:optimizer",
      "h:seed",
      "h:depth",
      "m:acc",
      "m:loss",
    ]);
  });
  test("a column of numbers has only numbers", () => {
    expect(columns.filter(({ isNumeric }) => isNumeric).map(({ name }) => name)).toEqual([
      "lr",
      "seed",
      "acc",
      "loss",
    ]);
  });
  test("what all runs share does not differ; what one lacks does", () => {
    expect(columns.map((one) => differs(one, IDS))).toEqual([true, true, false, true, true, false]);
  });
  test("metrics that were logged stand for themselves; without them the last values do", () => {
    expect(firstShown(columns).has("m:loss")).toBe(false);
    const bare = columnsOf(
      ROWS.map((row) => ({ ...row, metrics: {} })),
      RUNS,
    );
    expect(firstShown(bare).has("m:loss")).toBe(true);
  });
  test("what a watcher says of itself is not shown unless somebody asks for it", () => {
    const [own, other] = ["watch/cost", "lr"].map((name) => ({ ...columns[0]!, key: `m:${name}`, name }));
    const shown = [own!, other!].map((column) => ({ ...column, family: "metric" as const, isLogged: false }));
    expect([...firstShown(shown)]).toEqual(["m:lr"]);
  });
});

describe("axes", () => {
  test("what spreads wide is logarithmic by itself, and can be made linear", () => {
    const axis = axisOf(column("h:lr"), IDS, null);
    expect(axis.scale).toBe("log");
    expect(axis.place(0.01)).toBeCloseTo(0.5);
    expect(axis.ticks.map(({ label }) => label)).toEqual(["0.001", "0.01", "0.1"]);
    expect(axisOf(column("h:lr"), IDS, false).place(0.1)).toBe(1);
  });
  test("an axis with nought on it cannot be logarithmic", () => {
    expect(axisOf(column("h:seed"), IDS, true).scale).toBe("linear");
  });
  test("a single value stands in the middle", () => {
    expect(axisOf(column("h:seed"), IDS, null).place(0)).toBe(0.5);
  });
  test("words stand from top to bottom", () => {
    const axis = axisOf(column("h:optimizer"), IDS, null);
    expect([axis.place("adam"), axis.place("sgd"), axis.place("other")]).toEqual([1, 0, null]);
  });
  test("a place and its unit belong together", () => {
    for (const isLog of [false, true]) {
      const axis = axisOf(column("h:lr"), IDS, isLog);
      for (const place of [0, 0.3, 1]) expect(axis.placeOfUnit(axis.unitAt(place))).toBeCloseTo(place);
    }
  });
});

describe("brushing", () => {
  const axes = columns.map((one) => axisOf(one, IDS, null));
  const kept = (text: string): string[] => IDS.filter((id) => passes(axes, readBrushes(text), id));
  test("only runs that pass through all brushes stay, those at the very edge too", () => {
    expect(kept("h:lr~0.01~0.1")).toEqual(["a", "c"]);
    expect(kept("h:lr~0.01~0.1,h:optimizer~0~0.4")).toEqual(["c"]);
    expect(kept("")).toEqual(IDS);
  });
  test("a run without a value does not pass a brush on it", () =>
    expect(kept("m:acc~0~1")).toEqual(["a", "b"]));
  test("what was drawn upward or downward is the same, and a click is no brush", () => {
    const axis = axes[0]!;
    expect(brushFrom(axis, 0.8, 0.2)).toEqual(brushFrom(axis, 0.2, 0.8));
    expect(brushFrom(axis, 0.5, 0.501)).toBeNull();
    expect(brushFrom(axis, -3, 3)!.high).toBeCloseTo(0.1);
  });
  test("brushes come back from the address, whatever the names are", () => {
    const brushes = new Map([
      ["h:a,b~c", { low: -1e-7, high: 2.5 }],
      ["m:x", { low: 0, high: 1 }],
    ]);
    expect(readBrushes(writeBrushes(brushes))).toEqual(brushes);
    expect(readBrushes("x~1,~1~2,h:y~b~c,h:z~2~1").size).toBe(0);
  });
});

describe("filtering", () => {
  const kept = (text: string): string[] => IDS.filter((id) => filterOf(text, columns)(id, `run-${id}`));
  test("words are looked for in names and values", () => {
    expect(kept("SGD")).toEqual(["b", "c"]);
    expect(kept("run-a")).toEqual(["a"]);
    expect(kept("")).toEqual(IDS);
  });
  test("comparisons compare, and all terms must hold", () => {
    expect(kept("lr<0.05")).toEqual(["b", "c"]);
    expect(kept("lr>=0.01 optimizer=sgd")).toEqual(["c"]);
    expect(kept("optimizer!=sgd")).toEqual(["a"]);
    expect(kept("acc<1")).toEqual(["a", "b"]);
    expect(kept("lr<x")).toEqual([]);
  });
  test("a comparison with a column that is not there is a word", () => expect(kept("nothing<3")).toEqual([]));
});

describe("order", () => {
  const rows = IDS.map((id) => ({ id, name: `run-${id}` }));
  const sorted = (text: string): string[] => sortRows(rows, columns, readOrder(text)).map(({ id }) => id);
  test("by numbers, by words, by name; what is not known stands last either way", () => {
    expect(sorted("h:lr")).toEqual(["b", "c", "a"]);
    expect(sorted("-h:lr")).toEqual(["a", "c", "b"]);
    expect(sorted("h:optimizer")).toEqual(["a", "b", "c"]);
    expect(sorted("m:acc")).toEqual(["b", "a", "c"]);
    expect(sorted("-m:acc")).toEqual(["a", "b", "c"]);
    expect(sorted("-run")).toEqual(["c", "b", "a"]);
  });
  test("an order comes back from the address", () => {
    for (const text of ["h:lr", "-m:acc", "-run"]) expect(orderText(readOrder(text))).toBe(text);
  });
  test("axes that were moved stay where they are when others come", () => {
    expect(movedTo(["x", "y", "z"], "z", 0)).toEqual(["z", "x", "y"]);
    expect(movedTo(["x", "y", "z"], "x", 9)).toEqual(["y", "z", "x"]);
    expect(
      arranged(columns, ["m:acc", "gone", "h:lr"])
        .map(({ key }) => key)
        .slice(0, 3),
    ).toEqual(["m:acc", "h:lr", "h:optimizer"]);
  });
});

test("the nearest line is found between axes, and only near it", () => {
  const axes = [axisOf(column("h:lr"), IDS, null), axisOf(column("h:optimizer"), IDS, null)];
  const traces = IDS.map((id) => traceOf(id, axes));
  const [top, bottom] = [traces[0]!.ys[0]!, traces[1]!.ys[1]!];
  expect(traces[0]!.ys).toEqual([top, top]);
  expect(bottom).toBeGreaterThan(top + 100);
  expect(nearestTrace(traces, [0, 100], 50, top + 2)).toBe("a");
  expect(nearestTrace(traces, [0, 100], 50, bottom - 2)).toBe("b");
  expect(nearestTrace(traces, [0, 100], 50, (top + bottom) / 2)).toBeNull();
});

test("values are written as they were given where they are short", () => {
  expect([0.1, -3, true, "adam", null, undefined, 1 / 3].map(valueText)).toEqual([
    "0.1",
    "\u22123",
    "true",
    "adam",
    "–",
    "–",
    "0.3333",
  ]);
});
