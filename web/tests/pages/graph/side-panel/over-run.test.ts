import { expect, test } from "vitest";
import { addressesOf, figureCharts, isNamedAfter, seriesNamedAfter } from "../../../../src/pages/graph/side-panel/OverRun";
import type { OpSeriesAnswer } from "../../../../src/wire";
import { seriesWith } from "../../../run-listings";
import { documentWith, opWith, scopeWith, smallDocument } from "../../../samples";

test.each([
  ["features.0", true],
  ["features.0.Act", true],
  ["features.0.weight", true],
  ["features.0/weight_norm", true],
  ["grad/features.0.weight", true],
  ["features.01", false],
  ["features.0x.weight", false],
  ["my.features.0", false],
  ["features", false],
  ["loss", false],
])("%s is named after features.0: %s", (name, is) => {
  expect(isNamedAfter(name, "features.0")).toBe(is);
});

test("an op goes by its module and its parameters", () => {
  expect(addressesOf(smallDocument(), 1)).toEqual(["features.conv", "features.conv.weight"]);
});

test("an op of an opened function belongs to the module around it, one of the model itself to none", () => {
  const document = documentWith({
    ops: [opWith({ scope: 2 }), opWith({ scope: 0 })],
    scopes: [
      scopeWith({ address: "" }),
      scopeWith({ parent: 0, address: "attention" }),
      scopeWith({ parent: 1, address: null, name: "multi_head_attention_forward" }),
    ],
  });
  expect(addressesOf(document, 0)).toEqual(["attention"]);
  expect(addressesOf(document, 1)).toEqual([]);
  expect(addressesOf(document, 99)).toEqual([]);
});

test("without an address no series is named after an op", () => {
  expect(seriesNamedAfter([seriesWith({ name: "loss" })], [])).toEqual([]);
});

function answerWith(figures: string[], rows: (number | null)[][]): OpSeriesAnswer {
  const steps = rows.map((_, at) => 10 * at);
  return { type: "op_series", id: 1, steps, figures, rows };
}

test("only figures that are known in some pass have a chart, and what is missing is a gap", () => {
  const charts = figureCharts(
    answerWith(
      ["mean", "std", "min", "max", "zeros", "nan", "grad_mean"],
      [
        [1, null, -1, 2, 0.5, 0, null],
        [null, null, -2, 3, 0.25, 0, null],
      ],
    ),
  );
  expect(charts.map(({ title }) => title)).toEqual(["mean, from min to max", "share of zeros"]);
  expect(charts[0]!.lines[0]).toMatchObject({ x: [0, 10], y: [1, NaN], low: [-1, -2], high: [2, 3] });
});

test("values that are NaN have a chart of their own, where there are any", () => {
  const charts = figureCharts(
    answerWith(
      ["mean", "nan"],
      [
        [1, 0],
        [2, 7],
      ],
    ),
  );
  expect(charts.map(({ title }) => title)).toEqual(["mean, from min to max", "NaN"]);
  expect(charts[0]!.lines[0]!.low).toBeUndefined();
});

test("a server that knows no figures gives no charts", () => {
  expect(figureCharts(answerWith([], []))).toEqual([]);
});
