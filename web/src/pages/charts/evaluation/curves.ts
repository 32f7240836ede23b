/** Precision, recall and the rest at every threshold, from counts; and the areas under the curves. */
import { floatsOf, type FullRecord } from "../../../data/requests";
import type { Cell } from "../../../data/save-file";
import { Refusal } from "../../../data/source";

const NUM_ROWS = 6;

/** A number for each threshold, which rise evenly from 0 to 1. NaN where there is nothing to divide by. */
export interface Curve {
  readonly numThresholds: number;
  readonly truePositives: Float64Array;
  readonly falsePositives: Float64Array;
  readonly trueNegatives: Float64Array;
  readonly falseNegatives: Float64Array;
  readonly precision: Float64Array;
  readonly recall: Float64Array;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export function readCurve({ entry, bytes }: FullRecord): Curve {
  if (entry.head.kind !== "pr_curve")
    throw new Refusal(`This is no curve but a record of kind ${entry.head.kind}.`);
  const count = entry.head.num_thresholds;
  const numbers = floatsOf(bytes, NUM_ROWS * count);
  const row = (nth: number): Float64Array => numbers.subarray(nth * count, (nth + 1) * count);
  const [truePositives, falsePositives, trueNegatives, falseNegatives] = [row(0), row(1), row(2), row(3)];
  // Somebody who logged the curve itself and no counts is believed.
  const hasCounts = numbers.subarray(0, 4 * count).some((one) => one !== 0);
  return {
    numThresholds: count,
    truePositives,
    falsePositives,
    trueNegatives,
    falseNegatives,
    precision: hasCounts ? shares(truePositives, falsePositives) : row(4),
    recall: hasCounts ? shares(truePositives, falseNegatives) : row(5),
  };
}

/** One part of the sum of both, at each threshold. */
function shares(part: Float64Array, rest: Float64Array): Float64Array {
  return part.map((count, at) => divided(count, count + rest[at]!));
}

function divided(part: number, whole: number): number {
  return whole > 0 ? part / whole : NaN;
}

export function thresholdPlace(curve: Curve, threshold: number): number {
  return Math.round(threshold * (curve.numThresholds - 1));
}

export function thresholdAt(curve: Curve, place: number): number {
  return curve.numThresholds < 2 ? 0 : place / (curve.numThresholds - 1);
}

/** 2 TP / (2 TP + FP + FN), or from precision and recall where there are no counts. */
export function f1At(curve: Curve, place: number): number {
  const hits = curve.truePositives[place]!;
  const misses = curve.falsePositives[place]! + curve.falseNegatives[place]!;
  if (hits + misses > 0) return (2 * hits) / (2 * hits + misses);
  const [precision, recall] = [curve.precision[place]!, curve.recall[place]!];
  return precision + recall > 0 ? (2 * precision * recall) / (precision + recall) : NaN;
}

/** Precision over recall, from the highest threshold down; only where both are known. */
export function prPoints(curve: Curve): Point[] {
  const points: Point[] = [];
  for (let at = curve.numThresholds - 1; at >= 0; at--) {
    const [x, y] = [curve.recall[at]!, curve.precision[at]!];
    if (Number.isFinite(x) && Number.isFinite(y)) points.push({ x, y });
  }
  return points;
}

/** The sum of precision × the recall gained, as scikit-learn has it; NaN without positives. */
export function averagePrecision(curve: Curve): number {
  let [sum, before] = [0, 0];
  const points = prPoints(curve);
  if (points.length === 0) return NaN;
  for (const { x, y } of points) {
    sum += (x - before) * y;
    before = x;
  }
  return sum;
}

export function rocAt(curve: Curve, place: number): Point {
  const [falsePositives, trueNegatives] = [curve.falsePositives[place]!, curve.trueNegatives[place]!];
  return {
    x: divided(falsePositives, falsePositives + trueNegatives),
    y: divided(curve.truePositives[place]!, curve.truePositives[place]! + curve.falseNegatives[place]!),
  };
}

/** True over false positive rate, with both ends; nothing where there are no positives or no negatives. */
export function rocPoints(curve: Curve): Point[] {
  const points: Point[] = [];
  for (let at = curve.numThresholds - 1; at >= 0; at--) {
    const point = rocAt(curve, at);
    if (Number.isFinite(point.x) && Number.isFinite(point.y)) points.push(point);
  }
  return points.length === 0 ? [] : [{ x: 0, y: 0 }, ...points, { x: 1, y: 1 }];
}

/** By trapezoids; NaN where there is no curve. */
export function rocArea(curve: Curve): number {
  const points = rocPoints(curve);
  if (points.length === 0) return NaN;
  let sum = 0;
  for (let at = 1; at < points.length; at++) {
    const [from, to] = [points[at - 1]!, points[at]!];
    sum += ((to.x - from.x) * (from.y + to.y)) / 2;
  }
  return sum;
}

export const CURVE_COLUMNS = [
  "threshold",
  "true positives",
  "false positives",
  "true negatives",
  "false negatives",
  "precision",
  "recall",
  "F1",
  "false positive rate",
] as const;

export function curveRows(curve: Curve): Cell[][] {
  return Array.from({ length: curve.numThresholds }, (_, at) => [
    thresholdAt(curve, at),
    curve.truePositives[at]!,
    curve.falsePositives[at]!,
    curve.trueNegatives[at]!,
    curve.falseNegatives[at]!,
    curve.precision[at]!,
    curve.recall[at]!,
    f1At(curve, at),
    rocAt(curve, at).x,
  ]);
}
