import { describe, expect, test } from "vitest";
import type { FullRecord } from "../../../../src/data/requests";
import {
  averagePrecision,
  CURVE_COLUMNS,
  curveRows,
  f1At,
  prPoints,
  readCurve,
  rocArea,
  rocPoints,
  thresholdAt,
  thresholdPlace,
} from "../../../../src/pages/charts/evaluation/curves";
import type { RecordListing } from "../../../../src/wire";

/** A record as the server sends it, of counts by threshold. */
export function curveRecord(rows: readonly (readonly number[])[]): FullRecord {
  const num_thresholds = rows[0]!.length;
  const entry: RecordListing = {
    record: "rank-0:1",
    step: 10,
    time: 0,
    num_bytes: 0,
    head: { kind: "pr_curve", num_thresholds },
  };
  return { entry, bytes: new Uint8Array(new Float64Array(rows.flat()).buffer) };
}

/** The curve of scores and labels at thresholds that rise evenly from 0 to 1: positive from the threshold on. */
function curveOf(scores: readonly number[], labels: readonly number[], num: number) {
  const counts = Array.from({ length: num }, (_, at) => {
    const said = scores.map((score) => score >= at / (num - 1));
    const count = (isSaid: boolean, label: number): number =>
      said.filter((one, nth) => one === isSaid && labels[nth] === label).length;
    return [count(true, 1), count(true, 0), count(false, 0), count(false, 1)] as const;
  });
  const rows = [0, 1, 2, 3].map((row) => counts.map((one) => one[row as 0 | 1 | 2 | 3]));
  const [tp, fp, , fn] = rows as [number[], number[], number[], number[]];
  const precision = tp.map((hits, at) => hits / Math.max(1e-12, hits + fp[at]!));
  const recall = tp.map((hits, at) => hits / Math.max(1e-12, hits + fn[at]!));
  return readCurve(curveRecord([...rows, precision, recall]));
}

// The example of scikit-learn's own documentation, and its answers there.
const LABELS = [0, 0, 1, 1];
const SCORES = [0.1, 0.4, 0.35, 0.8];

describe("against scikit-learn", () => {
  const curve = curveOf(SCORES, LABELS, 1001);
  test("average precision", () => expect(averagePrecision(curve)).toBeCloseTo(0.8333333, 6));
  test("area under ROC", () => expect(rocArea(curve)).toBeCloseTo(0.75, 9));
});

test("a perfect reading has the area one, a reversed one nought", () => {
  expect(rocArea(curveOf([0.1, 0.2, 0.8, 0.9], LABELS, 101))).toBe(1);
  expect(averagePrecision(curveOf([0.1, 0.2, 0.8, 0.9], LABELS, 101))).toBe(1);
  expect(rocArea(curveOf([0.9, 0.8, 0.2, 0.1], LABELS, 101))).toBe(0);
});

test("scores that are all alike have the area of a guess and the share of positives", () => {
  const curve = curveOf([0.5, 0.5, 0.5, 0.5, 0.5], [1, 0, 0, 0, 0], 11);
  expect(rocArea(curve)).toBe(0.5);
  expect(averagePrecision(curve)).toBeCloseTo(0.2);
});

test("F1 is the harmonic mean of precision and recall at a threshold", () => {
  const curve = curveOf(SCORES, LABELS, 101);
  const at = thresholdPlace(curve, 0.38);
  expect([curve.precision[at], curve.recall[at]]).toEqual([0.5, 0.5]);
  expect(f1At(curve, at)).toBe(0.5);
  expect(f1At(curve, thresholdPlace(curve, 0.2))).toBeCloseTo(0.8);
});

test("where nothing is said positive there is no precision, and no point", () => {
  const curve = curveOf(SCORES, LABELS, 11);
  expect(curve.precision[10]).toBeNaN();
  expect(prPoints(curve).every(({ y }) => Number.isFinite(y))).toBe(true);
  expect(prPoints(curve)[0]).toEqual({ x: 0.5, y: 1 });
});

test("without positives there is no recall, no ROC and no average", () => {
  const curve = curveOf([0.2, 0.7], [0, 0], 11);
  expect(rocPoints(curve)).toEqual([]);
  expect(rocArea(curve)).toBeNaN();
  expect(averagePrecision(curve)).toBeNaN();
});

test("a curve that was logged without counts is taken as it is", () => {
  const nought = [0, 0, 0];
  const curve = readCurve(curveRecord([nought, nought, nought, nought, [0.5, 0.8, 1], [1, 0.5, 0.25]]));
  expect([...curve.precision]).toEqual([0.5, 0.8, 1]);
  expect(averagePrecision(curve)).toBeCloseTo(0.25 * 1 + 0.25 * 0.8 + 0.5 * 0.5);
  expect(f1At(curve, 1)).toBeCloseTo((2 * 0.8 * 0.5) / 1.3);
});

test("ROC goes from corner to corner and never back", () => {
  const points = rocPoints(curveOf([0.9, 0.2, 0.6, 0.55, 0.1, 0.3], [1, 0, 1, 0, 0, 1], 51));
  expect(points[0]).toEqual({ x: 0, y: 0 });
  expect(points.at(-1)).toEqual({ x: 1, y: 1 });
  for (let at = 1; at < points.length; at++) {
    expect(points[at]!.x).toBeGreaterThanOrEqual(points[at - 1]!.x);
    expect(points[at]!.y).toBeGreaterThanOrEqual(points[at - 1]!.y);
  }
});

test("thresholds rise evenly from nought to one", () => {
  const curve = curveOf(SCORES, LABELS, 5);
  expect([0, 1, 2, 3, 4].map((at) => thresholdAt(curve, at))).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(thresholdPlace(curve, 0.74)).toBe(3);
});

test("a record of the wrong length is refused in words", () => {
  const { entry } = curveRecord([[1, 2, 3]]);
  expect(() => readCurve({ entry, bytes: new Uint8Array(8) })).toThrow(/damaged/);
});

test("the table has a row for each threshold and a number for each column", () => {
  const rows = curveRows(curveOf(SCORES, LABELS, 11));
  expect(rows).toHaveLength(11);
  expect(rows[0]).toHaveLength(CURVE_COLUMNS.length);
  expect(rows[0]!.slice(0, 5)).toEqual([0, 2, 2, 0, 0]);
});
