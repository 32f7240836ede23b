/** The figures of a series over its steps, read from the heads of its records. */
import type { RecordListing } from "../wire";

export interface Figure {
  readonly step: number;
  readonly mean: number | null;
  readonly std: number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** From 0 to 1; null where it is not known. */
  readonly zeros: number | null;
  readonly numNan: number;
  readonly numInf: number;
  /** The figures that are those of a sample, by name. */
  readonly estimates: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const ALL: ReadonlySet<string> = new Set(["mean", "std", "min", "max", "zeros", "nan", "inf"]);

/** A figure of a sample has ≈ before it. */
export function withSign({ estimates }: Figure, name: string, text: string): string {
  return estimates.has(name) ? `\u2248 ${text}` : text;
}

export function figureOf({ step, head }: RecordListing): Figure | null {
  if (head.kind === "tensor") {
    const count = head.shape.reduce((product, size) => product * size, 1);
    return {
      step,
      mean: head.mean,
      std: head.std,
      min: head.min,
      max: head.max,
      zeros: count === 0 ? null : head.num_zeros / count,
      numNan: head.num_nan,
      numInf: head.num_inf,
      estimates: new Set(head.estimates),
    };
  }
  if (head.kind !== "histogram") return null;
  const { num, sum, sum_squares: squares } = head;
  const isKnown = num > 0 && sum !== null;
  const mean = isKnown ? sum / num : null;
  const variance = mean !== null && squares !== null ? squares / num - mean * mean : null;
  return {
    step,
    mean,
    // Rounding may bring what is nought a little below.
    std: variance === null ? null : Math.sqrt(Math.max(0, variance)),
    min: head.min,
    max: head.max,
    zeros: null,
    numNan: head.num_nan,
    numInf: head.num_inf,
    estimates: head.is_sample ? ALL : NONE,
  };
}

/** Between which numbers the chart reaches; null where nothing is known. */
export function extentOf(figures: readonly Figure[]): [low: number, high: number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const { mean, std, min, max } of figures) {
    const ends = [min, max, mean];
    if (mean !== null && std !== null) ends.push(mean - std, mean + std);
    for (const end of ends) {
      if (end === null || !Number.isFinite(end)) continue;
      low = Math.min(low, end);
      high = Math.max(high, end);
    }
  }
  if (low > high) return null;
  return low < high ? [low, high] : [low - Math.max(0.5, Math.abs(low) / 2), high + Math.max(0.5, Math.abs(high) / 2)];
}

/** Lines through what is known, broken where something is not. */
export function pathOf(points: readonly (readonly [number, number] | null)[]): string {
  let path = "";
  let isDrawing = false;
  for (const point of points) {
    if (point !== null) path += `${isDrawing ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    isDrawing = point !== null;
  }
  return path;
}

/** The area between two lines, in pieces where something is not known. */
export function areaOf(points: readonly (readonly [x: number, low: number, high: number] | null)[]): string {
  let path = "";
  let piece: (readonly [number, number, number])[] = [];
  const close = (): void => {
    if (piece.length > 0) {
      const up = piece.map(([x, , high]) => `${x.toFixed(1)} ${high.toFixed(1)}`);
      const down = piece.map(([x, low]) => `${x.toFixed(1)} ${low.toFixed(1)}`).reverse();
      path += `M${[...up, ...down].join("L")}Z`;
    }
    piece = [];
  };
  for (const point of points) {
    if (point === null) close();
    else piece.push(point);
  }
  close();
  return path;
}

/** Which of the places is nearest; the first of equals. */
export function nearestX(places: readonly number[], x: number): number {
  return places.reduce((best, one, at) => (Math.abs(one - x) < Math.abs(places[best]! - x) ? at : best), 0);
}
