import { describe, expect, it } from "vitest";
import { commonFolder } from "../../../src/pages/control/tables/TableView";
import { columnFormat, inOrder, nextOrder, shownColumns } from "../../../src/pages/control/tables/columns";
import {
  cellOf,
  isUntested,
  isWrong,
  NO_ROWS,
  type Row,
  tableOf,
  withAnswer,
} from "../../../src/pages/control/tables/table-data";
import { partOf } from "./parts";

describe("rows", () => {
  it("stand in the order of the runs, and those of an answer that voids replace all", () => {
    const first = withAnswer(NO_ROWS, { is_all: true, parts: [partOf("b", { loss: [3] }), partOf("a", { loss: [1, 2] })] }, { runIds: ["a", "b"], isOnlyLast: false });
    expect(first.rows.map((row) => cellOf(row, "loss"))).toEqual([1, 2, 3]);
    const more = withAnswer(first, { is_all: false, parts: [partOf("a", { loss: [2.5] }, "2")] }, { runIds: ["a", "b"], isOnlyLast: false });
    expect(more.rows.map((row) => cellOf(row, "loss"))).toEqual([1, 2, 2.5, 3]);
    const anew = withAnswer(more, { is_all: true, parts: [partOf("b", { loss: [9] })] }, { runIds: ["a", "b"], isOnlyLast: false });
    expect(anew.rows.map((row) => cellOf(row, "loss"))).toEqual([9]);
  });

  it("of a test are those of the newest record alone", () => {
    const first = withAnswer(NO_ROWS, { is_all: true, parts: [partOf("a", { trial: [0, 1] }, "1")] }, { runIds: ["a"], isOnlyLast: true });
    const next = withAnswer(first, { is_all: false, parts: [partOf("a", { trial: [5] }, "2")] }, { runIds: ["a"], isOnlyLast: true });
    expect(next.rows.map((row) => cellOf(row, "trial"))).toEqual([5]);
  });

  it("may have other columns than those before them", () => {
    const data = tableOf([partOf("a", { loss: [1] }, "1"), partOf("a", { loss: [2], extra: ["x"] }, "2")]);
    expect(data.columns.map(({ name }) => name)).toEqual(["loss", "extra"]);
    expect(data.rows.map((row) => cellOf(row, "extra"))).toEqual([null, "x"]);
  });

  it("are wrong where they say so", () => {
    const { rows } = tableOf([partOf("a", { error: [0, 1, "NaN"] })]);
    expect(rows.map(isWrong)).toEqual([false, true, false]);
  });

  it("of an epoch without a test have empty cells there, and a NaN of a test is one", () => {
    const { rows } = tableOf([
      partOf("a", { loss: ["NaN"], "test loss": ["NaN"], "test errors": ["NaN"] }, "1"),
      partOf("a", { loss: [1], "test loss": ["NaN"], "test errors": [25] }, "2"),
    ]);
    expect(rows.map((row) => isUntested(row, "test loss"))).toEqual([true, false]);
    expect(isUntested(rows[0]!, "loss")).toBe(false);
  });
});

describe("the order", () => {
  const { rows } = tableOf([partOf("a", { loss: [2, "NaN", 10, "-inf", 2], name: ["b10", "", "b9", "a", "c"] })]);
  const places = (sorted: readonly Row[]) => sorted.map(({ at }) => at);

  it("is by the size of numbers, what is none last whichever way, equals as they are", () => {
    expect(places(inOrder(rows, { column: "loss", isDown: false }))).toEqual([3, 0, 4, 2, 1]);
    expect(places(inOrder(rows, { column: "loss", isDown: true }))).toEqual([2, 0, 4, 3, 1]);
  });

  it("of texts is that of a person, with numbers by their size", () => {
    expect(places(inOrder(rows, { column: "name", isDown: false }))).toEqual([3, 2, 0, 4, 1]);
  });

  it("turns round with a second press, and is as it was with a third", () => {
    const first = nextOrder(null, "loss", true);
    expect(first).toEqual({ column: "loss", isDown: true });
    const second = nextOrder(first, "loss", true);
    expect(second).toEqual({ column: "loss", isDown: false });
    expect(nextOrder(second, "loss", true)).toBeNull();
    expect(nextOrder(second, "name", false)).toEqual({ column: "name", isDown: false });
  });
});

describe("numbers of a column", () => {
  it("have as many decimals, so that they line up, with a true minus", () => {
    const format = columnFormat([2.48, -0.1921, 0]);
    expect([2.48, -0.1921, 0].map(format)).toEqual(["2.480", "\u22120.192", "0.000"]);
  });

  it("are never written as nought where they are not", () => {
    expect(columnFormat([2.48, 0.00001])(0.00001)).toBe("1e\u22125");
  });

  it("are whole where all are, with all their digits", () => {
    expect(columnFormat([3960000001, 1])(3960000001)).toBe("3\u202f960\u202f000\u202f001");
  });

  it("say what is no number", () => {
    expect([NaN, -Infinity].map(columnFormat([1.5]))).toEqual(["NaN", "\u2212\u221e"]);
  });
});

describe("columns", () => {
  const trials = tableOf([
    partOf("a", { run: [0], trial: [0], input: { shape: [8] }, h1: { shape: [6] }, h2: { shape: [6] }, h3: { shape: [6] }, h4: { shape: [5] }, Output: { shape: [4] }, Target: { shape: [4] }, loss: [1], error: [1] }),
  ]);

  it("of a test say first whether it was wrong, and show what goes in, the last layer and what comes out", () => {
    const shown = shownColumns(trials, new Map()).filter(({ isShown }) => isShown);
    expect(shown.map(({ title }) => title)).toEqual(["Trial", "Error", "input", "h4", "Output and target", "Loss"]);
    expect(shown.find(({ key }) => key === "Output")?.names).toEqual(["Output", "Target"]);
  });

  it("are shown as somebody chose", () => {
    const chosen = shownColumns(trials, new Map([["h1", true], ["loss", false]])).filter(({ isShown }) => isShown);
    expect(chosen.map(({ key }) => key)).toEqual(["trial", "error", "input", "h1", "h4", "Output"]);
  });

  it("leave the word to the answer where there is one", () => {
    const data = tableOf([partOf("a", { trial: [0], answer: [3], error: [1] })]);
    expect(shownColumns(data, new Map()).find(({ key }) => key === "error")?.isShown).toBe(false);
  });

  it("of parameters are shown where runs differ in them", () => {
    const data = tableOf([partOf("a", { hidden: [35] }, "1"), partOf("b", { hidden: [35], rate: [0.1] }, "1")]);
    const shown = shownColumns(data, new Map(), new Set(["hidden", "rate"]));
    expect(shown.map(({ key, isShown }) => [key, isShown])).toEqual([["hidden", false], ["rate", true]]);
  });
});

it("a file of several runs is called as the folder that they have in common", () => {
  expect(commonFolder(["etra25-1/run-0", "etra25-1/run-1"])).toBe("etra25-1");
  expect(commonFolder(["etra25-1/run-0", "etra25-2/run-0"])).toBe("");
});
