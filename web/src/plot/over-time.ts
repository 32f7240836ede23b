/** The figures of a series over its steps, read from the heads of its records. */
import type { RecordListing, TensorView } from "../wire";

export interface Figure extends Readonly<Pick<TensorView, "mean" | "std" | "min" | "max">> {
  readonly step: number;
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
    const { mean, std, min, max } = head;
    return {
      ...{ step, mean, std, min, max },
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
