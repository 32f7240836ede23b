/**
 * The axes along which points differ most. It is done in pieces: each `yield` is a place where the page may draw.
 *
 * Up to 400 dimensions the covariance is made and its foremost eigenvectors found by turning a small block of
 * vectors through it; beyond that the block goes through the points themselves. Where points are many, the axes
 * are found from an even sample of them, and all points are then placed on the axes.
 */
import { leadingEigenvectors, type Apply, type Patience } from "./eigen";

export interface Axes {
  readonly numDims: number;
  readonly mean: Float64Array;
  /** One after the other, of length one, those of most variance first. */
  readonly vectors: Float64Array;
  /** The share of the whole variance that each has. */
  readonly shares: readonly number[];
  /** From so many points the axes were found. */
  readonly numSampled: number;
}

/** A turn through the covariance costs little, one through all points much: a pixel is all that it has to be good for. */
const EXACT: Patience = { mostRounds: 300, tolerance: 1e-9 };
const QUICK: Patience = { mostRounds: 40, tolerance: 1e-4 };
const MOST_AXES = 10;
const LARGEST_COVARIANCE = 400;
const MOST_PRODUCTS = 1.5e9;
const MOST_VALUES = 3e6;
/** Numbers that are held beside the points: eight bytes each. */
const MOST_HELD = 1e7;
/** Products between two places where the page may draw: a few milliseconds. */
const PIECE = 2e6;

export function* findAxes(
  matrix: Float32Array,
  numDims: number,
  hasPlace: Uint8Array,
): Generator<number, Axes> {
  const sample = sampleRows(hasPlace, numDims);
  const mean = meanOf(matrix, numDims, sample);
  const count = Math.min(MOST_AXES, numDims, Math.max(1, sample.length));
  const isSmall = numDims <= LARGEST_COVARIANCE;
  const rows = centred(matrix, numDims, sample, mean);
  const total = rows.reduce((sum, value) => sum + value * value, 0);
  yield 0.05;
  let apply: Apply;
  if (isSmall) {
    const covariance = new Float64Array(numDims * numDims);
    yield* addCovariance(rows, numDims, covariance);
    apply = throughMatrix(covariance, numDims);
  } else {
    apply = throughRows(rows, numDims);
  }
  const found = yield* leadingEigenvectors(apply, numDims, count, isSmall ? EXACT : QUICK);
  return {
    numDims,
    mean,
    vectors: found.vectors,
    shares: found.values.map((value) => (total > 0 ? Math.min(1, Math.max(0, value / total)) : 0)),
    numSampled: sample.length,
  };
}

/** Where all points stand on the axes: a row for each point. */
export function* placeOnAxes(
  matrix: Float32Array,
  numPoints: number,
  axes: Axes,
): Generator<number, Float32Array> {
  const { numDims, mean, vectors } = axes;
  const count = axes.shares.length;
  const places = new Float32Array(numPoints * count);
  const shift = new Float64Array(count);
  for (let axis = 0; axis < count; axis++) {
    for (let dim = 0; dim < numDims; dim++) shift[axis]! += mean[dim]! * vectors[axis * numDims + dim]!;
  }
  let products = 0;
  for (let point = 0; point < numPoints; point++) {
    for (let axis = 0; axis < count; axis++) {
      let sum = 0;
      for (let dim = 0, at = point * numDims, on = axis * numDims; dim < numDims; dim++, at++, on++) {
        sum += matrix[at]! * vectors[on]!;
      }
      places[point * count + axis] = sum - shift[axis]!;
    }
    products += count * numDims;
    if (products < PIECE) continue;
    products = 0;
    yield point / numPoints;
  }
  return places;
}

/** Points that have a place, all of them or as many as there is time for, evenly chosen. */
function sampleRows(hasPlace: Uint8Array, numDims: number): Int32Array {
  const all: number[] = [];
  for (let point = 0; point < hasPlace.length; point++) if (hasPlace[point] === 1) all.push(point);
  const isSmall = numDims <= LARGEST_COVARIANCE;
  const most = Math.floor(
    Math.min(isSmall ? MOST_PRODUCTS / numDims : MOST_VALUES, MOST_HELD) / Math.max(1, numDims),
  );
  const count = Math.min(all.length, Math.max(most, 256));
  return Int32Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]!);
}

function meanOf(matrix: Float32Array, numDims: number, sample: Int32Array): Float64Array {
  const mean = new Float64Array(numDims);
  for (const point of sample) {
    for (let dim = 0; dim < numDims; dim++) mean[dim]! += matrix[point * numDims + dim]!;
  }
  return mean.map((sum) => sum / Math.max(1, sample.length));
}

function centred(
  matrix: Float32Array,
  numDims: number,
  sample: Int32Array,
  mean: Float64Array,
): Float64Array {
  const rows = new Float64Array(sample.length * numDims);
  let to = 0;
  for (const point of sample) {
    for (let dim = 0; dim < numDims; dim++, to++) rows[to] = matrix[point * numDims + dim]! - mean[dim]!;
  }
  return rows;
}

function* addCovariance(rows: Float64Array, numDims: number, covariance: Float64Array): Generator<number> {
  let products = 0;
  for (let start = 0; start < rows.length; start += numDims) {
    for (let left = 0; left < numDims; left++) {
      const value = rows[start + left]!;
      const line = left * numDims;
      for (let right = left; right < numDims; right++) {
        covariance[line + right]! += value * rows[start + right]!;
      }
    }
    products += (numDims * numDims) / 2;
    if (products < PIECE) continue;
    products = 0;
    yield 0.05 + (0.6 * start) / rows.length;
  }
  for (let left = 0; left < numDims; left++) {
    for (let right = 0; right < left; right++)
      covariance[left * numDims + right] = covariance[right * numDims + left]!;
  }
}

function throughMatrix(matrix: Float64Array, size: number): Apply {
  return function* (vector, out) {
    for (let row = 0, at = 0; row < size; row++) {
      let sum = 0;
      for (let column = 0; column < size; column++, at++) sum += matrix[at]! * vector[column]!;
      out[row] = sum;
    }
    yield 0;
  };
}

/** The same without the covariance itself: to the points, and back. */
function throughRows(rows: Float64Array, numDims: number): Apply {
  return function* (vector, out) {
    out.fill(0);
    for (let start = 0; start < rows.length; start += numDims) {
      let sum = 0;
      for (let dim = 0; dim < numDims; dim++) sum += rows[start + dim]! * vector[dim]!;
      for (let dim = 0; dim < numDims; dim++) out[dim]! += sum * rows[start + dim]!;
    }
    yield 0;
  };
}
