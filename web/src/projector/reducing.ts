/** Bring the points into two or three dimensions: PCA here, t-SNE and UMAP by the server. */
import { batch, effect } from "@preact/signals";
import { param, setParams } from "../route";
import type { Source } from "../source/source";
import { findAxes, placeOnAxes, type Axes } from "./pca";
import { inSlices, type Work } from "./slices";
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
