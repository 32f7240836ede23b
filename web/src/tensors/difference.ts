/** Two tensors of one shape against each other: what is between them, value by value. */
import type { TensorValues, Values } from "../source/source";
import type { TensorView } from "../wire";

export interface Difference {
  readonly between: TensorValues;
  /** Null where no pair of finite values is there. */
  readonly largest: number | null;
  /** Pearson's; null where one side does not vary. */
  readonly correlation: number | null;
  readonly numCompared: number;
}

const NUM_BINS = 64;

/** Null where the windows do not hold the same places. */
export function differenceOf(a: TensorValues, b: TensorValues): Difference | null {
  const isSame =
    a.view.shape.join() === b.view.shape.join() &&
    JSON.stringify(a.view.window) === JSON.stringify(b.view.window) &&
    a.values.length === b.values.length;
  if (!isSame) return null;
  const values = new Float64Array(a.values.length);
  for (let at = 0; at < values.length; at++) values[at] = a.values[at]! - b.values[at]!;
  const view = viewOf(values, a.view);
  const largest = view.min === null || view.max === null ? null : Math.max(Math.abs(view.min), Math.abs(view.max));
  return { between: { view, values }, largest, ...correlationOf(a.values, b.values) };
}

function correlationOf(a: Values, b: Values): { correlation: number | null; numCompared: number } {
  let [count, meanA, meanB] = [0, 0, 0];
  const isPair = (at: number): boolean => Number.isFinite(a[at]) && Number.isFinite(b[at]);
  for (let at = 0; at < a.length; at++) {
    if (!isPair(at)) continue;
    count += 1;
    meanA += a[at]!;
    meanB += b[at]!;
  }
  [meanA, meanB] = [meanA / Math.max(1, count), meanB / Math.max(1, count)];
  let [squareA, squareB, both] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    if (!isPair(at)) continue;
    const [left, right] = [a[at]! - meanA, b[at]! - meanB];
    squareA += left * left;
    squareB += right * right;
    both += left * right;
  }
  const scale = Math.sqrt(squareA) * Math.sqrt(squareB);
  const correlation = scale > 0 ? Math.max(-1, Math.min(1, both / scale)) : null;
  return { correlation, numCompared: count };
}

/** The figures of values that were made here, in the form in which those of a tensor come. */
export function viewOf(values: Values, like: TensorView): TensorView {
  let [count, sum, min, max] = [0, 0, Infinity, -Infinity];
  let [numZeros, numNan, numInf] = [0, 0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) numNan += 1;
    else if (!Number.isFinite(value)) numInf += 1;
    else {
      count += 1;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
      if (value === 0) numZeros += 1;
    }
  }
  const mean = sum / Math.max(1, count);
  let squares = 0;
  for (const value of values) if (Number.isFinite(value)) squares += (value - mean) ** 2;
  const isEmpty = count === 0;
  return {
    ...like,
    num_elements: values.length,
    mean: isEmpty ? null : mean,
    std: isEmpty ? null : Math.sqrt(squares / count),
    min: isEmpty ? null : min,
    max: isEmpty ? null : max,
    num_zeros: numZeros,
    num_nan: numNan,
    num_inf: numInf,
    encoding: values instanceof Float64Array ? "f8" : "f4",
    note: "",
    ...histogramOf(values, min, max),
  };
}

function histogramOf(
  values: Values,
  min: number,
  max: number,
): Pick<TensorView, "histogram" | "histogram_low" | "histogram_high"> {
  if (!(min <= max)) return { histogram: [], histogram_low: 0, histogram_high: 0 };
  const [low, high] = min < max ? [min, max] : [min - 0.5, max + 0.5];
  const histogram = new Array<number>(NUM_BINS).fill(0);
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    histogram[Math.min(NUM_BINS - 1, Math.floor(((value - low) / (high - low)) * NUM_BINS))]! += 1;
  }
  return { histogram, histogram_low: low, histogram_high: high };
}
