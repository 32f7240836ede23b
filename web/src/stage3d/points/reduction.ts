/** Bring the points into two or three dimensions: PCA here, t-SNE and UMAP by the server. */
import { batch, effect } from "@preact/signals";
import { param, setParams } from "../../data/route";
import type { Source } from "../../data/source";
import { type Apply, leadingEigenvectors, type Patience } from "./eigen";
import * as store from "./store";

const MOST_KEPT = 12;
const kept = new Map<string, store.Coordinates>();
/** The axes that stay while steps change, of the embedding that they were found for. */
let held: { readonly place: string; readonly axes: Axes } | null = null;

/** In the address: the method whose result was seen here. The server keeps it, so it comes back after a reload. */
const SEEN = "made";

/** Call what it returns to stop. */
export function startReducing(source: Source): () => void {
  let work: Work | null = null;
  let isFirst = true;
  let wanted = "";
  const stop = effect(() => {
    const here = store.loaded.value;
    if (here === null) return;
    if (isFirst) {
      isFirst = false;
      const wasSeen = param(SEEN) === store.method.peek() && !kept.has(keyOf(here, store.method.peek()));
      if (wasSeen) queueMicrotask(() => reduceThere(source));
    }
    const known = kept.get(keyOf(here, store.method.value));
    const found = known ?? kept.get(keyOf(here, "pca"));
    const isHeld = store.holdAxes.value;
    if (found !== undefined) {
      store.coordinates.value = found;
      return;
    }
    const key = `${here.place.runId} ${here.record} ${isHeld}`;
    if (key === wanted) return;
    wanted = key;
    work?.cancel();
    work = reduceHere(here, isHeld);
  });
  return () => {
    work?.cancel();
    stop();
  };
}

/** What distinguishes one set of coordinates from another. */
function keyOf(here: store.Loaded, method: store.Method): string {
  const { runId } = here.place;
  if (method === "pca") return JSON.stringify([runId, here.record, method, store.holdAxes.value]);
  const { dims, neighbourhood, metric } = store;
  return JSON.stringify([runId, here.record, method, dims.value, neighbourhood.value, metric.value]);
}

function keep(key: string, found: store.Coordinates): void {
  kept.set(key, found);
  for (const name of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(name);
}

function* steps(here: store.Loaded, isHeld: boolean): Generator<number, store.Coordinates> {
  const { embedding } = here;
  const place = store.keyOf(here.place);
  const canHold = isHeld && held?.place === place && held.axes.numDims === embedding.numDims;
  const axes = canHold ? held!.axes : yield* findAxes(embedding.matrix, embedding.numDims, embedding.hasPlace);
  if (!canHold) held = { place, axes };
  const values = yield* placeOnAxes(embedding.matrix, embedding.numPoints, axes);
  const numPlaced = embedding.numPoints - embedding.numBad;
  const isSample = !canHold && axes.numSampled < numPlaced;
  return {
    record: here.record,
    method: "pca",
    values,
    perPoint: axes.shares.length,
    shares: canHold ? [] : axes.shares,
    note: canHold
      ? "The axes are held: other steps are drawn on them, too."
      : isSample
        ? `The axes were found from ${axes.numSampled} of ${numPlaced} points.`
        : "",
  };
}

function reduceHere(here: store.Loaded, isHeld: boolean): Work {
  const key = keyOf(here, "pca");
  store.reducing.value = { state: "working", what: "PCA", share: 0, cancel: null };
  return inSlices(
    steps(here, isHeld),
    (share) => (store.reducing.value = { state: "working", what: "PCA", share, cancel: null }),
    (found) => {
      keep(key, found);
      batch(() => {
        store.reducing.value = { state: "idle" };
        if (store.loaded.peek()?.record === here.record) store.coordinates.value = found;
      });
    },
    (reason) => (store.reducing.value = { state: "failed", what: "PCA", reason: String(reason) }),
  );
}

/** Are the coordinates that are shown the ones that are asked for? */
export function isReduced(): boolean {
  return store.coordinates.value?.method === store.method.value;
}

/** Ask the server, once somebody wants it: it may take minutes. */
export function reduceThere(source: Source): void {
  const here = store.loaded.peek();
  const method = store.method.peek();
  if (here === null || method === "pca") return;
  const what = method === "tsne" ? "t-SNE" : "UMAP";
  const key = keyOf(here, method);
  const { dims, neighbourhood, metric } = store;
  const ended = (): void => {
    store.reducing.value = { state: "idle" };
  };
  const cancel = (): void => {
    stop();
    ended();
  };
  store.reducing.value = { state: "working", what, share: 0, cancel };
  const how: store.Reducing = {
    method,
    num_dims: dims.peek(),
    neighbours: neighbourhood.peek(),
    metric: metric.peek(),
  };
  const stop = source.follow(
    here.reduceAs?.(how) ?? { type: "reduce", run_id: here.place.runId, record: here.record, ...how },
    {
      hear: ({ answer, buffer, offset }) => {
        if (answer.type !== "reduction") return;
        if (!answer.is_done) {
          store.reducing.value = { state: "working", what, share: answer.progress, cancel };
          return;
        }
        stop();
        const { num_points: numPoints, num_dims: perPoint, note } = answer;
        if (numPoints !== here.embedding.numPoints || buffer.byteLength - offset !== 4 * numPoints * perPoint) {
          store.reducing.value = { state: "failed", what, reason: "The answer does not fit the points." };
          return;
        }
        const values = new Float32Array(buffer, offset, numPoints * perPoint);
        const found = { record: here.record, method, values, perPoint, shares: [], note };
        keep(key, found);
        setParams({ [SEEN]: method });
        batch(() => {
          ended();
          const isWanted = store.loaded.peek()?.record === here.record && store.method.peek() === method;
          if (isWanted) store.coordinates.value = found;
        });
      },
      refuse: (reason) => {
        store.reducing.value = { state: "failed", what, reason };
      },
    },
  );
}

// --- Long work in short pieces, so that the page stays responsive.

const PIECE_MS = 10;

interface Work {
  readonly cancel: () => void;
}

/** Run the steps; each says how far it is, from 0 to 1. Nothing is heard after a cancel. */
function inSlices<T>(
  steps: Generator<number, T>,
  onProgress: (progress: number) => void,
  onDone: (result: T) => void,
  onFailed: (reason: unknown) => void = () => undefined,
): Work {
  let isCancelled = false;
  const go = (): void => {
    if (isCancelled) return;
    const until = performance.now() + PIECE_MS;
    try {
      for (;;) {
        const step = steps.next();
        if (step.done === true) {
          onDone(step.value);
          return;
        }
        if (performance.now() < until) continue;
        onProgress(step.value);
        setTimeout(go);
        return;
      }
    } catch (reason) {
      onFailed(reason);
    }
  };
  setTimeout(go);
  return {
    cancel: () => {
      isCancelled = true;
    },
  };
}

/** The same at once, for those who can wait. */
export function atOnce<T>(steps: Generator<number, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

// --- The axes along which points differ most. It is done in pieces: each `yield` is a place where the page
//   may draw.  Up to 400 dimensions the covariance is made and its foremost eigenvectors found by turning a
//   small block of vectors through it; beyond that the block goes through the points themselves. Where points
//   are many, the axes are found from an even sample of them, and all points are then placed on the axes.

interface Axes {
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
