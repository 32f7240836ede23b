/** Ask the server for the points in fewer dimensions: PCA as soon as they are here, t-SNE and UMAP once somebody wants it. */
import { batch, effect } from "@preact/signals";
import { param, setParams } from "../../data/route";
import type { Source } from "../../data/source";
import * as store from "./store";

const MOST_KEPT = 12;
/** Of PCA: so many can be chosen from. */
const MOST_AXES = 10;
const kept = new Map<string, store.Coordinates>();
/** Of which record the axes stay while steps change. */
let held: { readonly place: string; readonly record: string; readonly numDims: number } | null = null;

/** In the address: the method whose result was seen here. The server keeps it, so it comes back after a reload. */
const SEEN = "made";

export function startReducing(source: Source): () => void {
  let stopLast = (): void => undefined;
  let isFirst = true;
  let wanted = "";
  const stop = effect(() => {
    const here = store.loaded.value;
    if (here === null) return;
    if (isFirst) {
      isFirst = false;
      const wasSeen = param(SEEN) === store.method.chosen && !kept.has(keyOf(here, store.method.chosen));
      if (wasSeen) queueMicrotask(() => reduceThere(source));
    }
    const key = keyOf(here, "pca");
    const found = kept.get(keyOf(here, store.method.chosen)) ?? kept.get(key);
    if (found !== undefined) {
      store.coordinates.value = found;
      return;
    }
    if (key === wanted) return;
    wanted = key;
    stopLast();
    stopLast = follow(source, here, "pca", null);
  });
  return () => {
    stopLast();
    stop();
  };
}

/** What distinguishes one set of coordinates from another. */
function keyOf(here: store.Loaded, method: store.Method): string {
  const { dims, neighbourhood, metric, holdAxes } = store;
  const how = method === "pca" ? [holdAxes.value] : [dims.chosen, neighbourhood.value, metric.chosen];
  return [here.place.runId, here.record, method, ...how].join(" ");
}

/** Are the coordinates that are shown the ones that are asked for? */
export function isReduced(): boolean {
  return store.coordinates.value?.method === store.method.chosen;
}

/** It may take minutes. */
export function reduceThere(source: Source): void {
  const here = store.loaded.peek();
  const method = store.method.chosen;
  if (here === null || method === "pca") return;
  const cancel = (): void => {
    stop();
    store.reducing.value = { state: "idle" };
  };
  const stop = follow(source, here, method, cancel);
}

function follow(source: Source, here: store.Loaded, method: store.Method, cancel: (() => void) | null): () => void {
  const what = store.titleOf(method);
  const key = keyOf(here, method);
  const [how, axesOf] = method === "pca" ? pcaOf(here) : [howOf(method), ""];
  const fail = (reason: string): void => {
    store.reducing.value = { state: "failed", what, reason };
  };
  store.reducing.value = { state: "working", what, share: 0, cancel };
  const asked = { type: "reduce", run_id: here.place.runId, record: here.record, axes_of: axesOf, ...how } as const;
  const stop = source.follow(here.reduceAs?.(how) ?? asked, {
    hear: ({ answer, buffer, offset }) => {
      if (answer.type !== "reduction") return;
      if (!answer.is_done) {
        store.reducing.value = { state: "working", what, share: answer.progress, cancel };
        return;
      }
      stop();
      const { num_points: numPoints, num_dims: perPoint, shares } = answer;
      if (numPoints !== here.embedding.numPoints || buffer.byteLength - offset !== 4 * numPoints * perPoint) {
        fail("The answer does not fit the points.");
        return;
      }
      const values = new Float32Array(buffer, offset, numPoints * perPoint);
      // What PCA has to say of points without a place is said of the drawing.
      const note = axesOf !== "" ? "The axes are held: other steps are drawn on them, too." : method === "pca" ? "" : answer.note;
      const found = { record: here.record, method, values, perPoint, shares, note };
      kept.set(key, found);
      for (const name of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(name);
      if (method !== "pca") setParams({ [SEEN]: method });
      batch(() => {
        store.reducing.value = { state: "idle" };
        const best = kept.get(keyOf(here, store.method.chosen)) ?? kept.get(keyOf(here, "pca"));
        if (store.loaded.peek()?.record === here.record && best !== undefined) store.coordinates.value = best;
      });
    },
    refuse: fail,
  });
  return stop;
}

function howOf(method: store.Method): store.Reducing {
  const { dims, neighbourhood, metric } = store;
  return { method, num_dims: Number(dims.chosen), neighbours: neighbourhood.peek(), metric: metric.chosen };
}

/** On as many axes as there are, of these points or of those whose axes are held. */
function pcaOf(here: store.Loaded): [how: store.Reducing, axesOf: string] {
  const { numPoints, numDims } = here.embedding;
  const place = store.keyOf(here.place);
  const canHold = store.holdAxes.peek() && held?.place === place && held.numDims === numDims;
  const axesOf = canHold && here.reduceAs === undefined ? held!.record : "";
  if (!canHold) held = { place, record: here.record, numDims };
  const num_dims = Math.max(1, Math.min(MOST_AXES, numDims, numPoints));
  return [{ method: "pca", num_dims, neighbours: 1, metric: "euclidean" }, axesOf];
}
