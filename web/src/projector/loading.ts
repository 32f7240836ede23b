/** Fetch the embedding that is wanted, and keep it up to date while its run goes on. */
import { batch, effect } from "@preact/signals";
import { param } from "../route";
import type { Source } from "../source/source";
import { followRecordList } from "../tensors/recordlist";
import { readEmbedding, type Embedding } from "./embedding";
import { recallSelections } from "./selections";
import * as store from "./store";

/** Embeddings that were looked at are kept, as long as they are not too large together. */
const MOST_KEPT_BYTES = 256e6;

const kept = new Map<string, Embedding>();

/** Call what it returns to stop. */
export function startLoading(source: Source): () => void {
  const stops = [followRecords(source), followRecord(source), takeSelection()];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The list of records, again whenever the series has more. */
function followRecords(source: Source): () => void {
  return followRecordList(
    source,
    () => {
      const place = store.place.value;
      return place === null ? null : { runId: place.runId, kind: "embedding", name: place.name };
    },
    (list) => (store.list.value = list),
    (reason) => (store.loading.value = failed("The list of records", reason)),
  );
}

/** The record of the step that is wanted. */
function followRecord(source: Source): () => void {
  let wanted = "";
  return effect(() => {
    const place = store.place.value;
    const listing = store.records.value[store.recordAt.value];
    if (place === null || listing?.head.kind !== "embedding") return;
    const key = `${place.runId} ${listing.record}`;
    if (key === wanted) return;
    wanted = key;
    const known = kept.get(key);
    if (known !== undefined) {
      show(place, listing.record, listing.step, known);
      return;
    }
    store.loading.value = { state: "working", what: "Loading the points", share: -1, cancel: null };
    source.ask({ type: "record", run_id: place.runId, record: listing.record }).then(
      ({ answer, buffer, offset }) => {
        if (answer.type !== "record" || answer.entry.head.kind !== "embedding") return;
        try {
          const embedding = readEmbedding(answer.entry.head, buffer, offset);
          keep(key, embedding);
          if (wanted === key) show(place, listing.record, listing.step, embedding);
        } catch (reason) {
          if (wanted === key) store.loading.value = failed("This embedding", reason);
        }
      },
      (reason: unknown) => {
        if (wanted === key) store.loading.value = failed("This embedding", reason);
      },
    );
  });
}

function failed(what: string, reason: unknown): store.Progress {
  return { state: "failed", what, reason: reason instanceof Error ? reason.message : String(reason) };
}

function keep(key: string, embedding: Embedding): void {
  kept.set(key, embedding);
  let bytes = 0;
  for (const [name, one] of [...kept].reverse()) {
    bytes += one.matrix.byteLength;
    if (bytes > MOST_KEPT_BYTES && name !== key) kept.delete(name);
  }
}

function show(place: store.EmbeddingPlace, record: string, step: number, embedding: Embedding): void {
  showEmbedding({ place, record, step, embedding });
}

/** From now on these points are shown. */
export function showEmbedding(next: store.Loaded): void {
  const { place, embedding } = next;
  batch(() => {
    const before = store.loaded.peek();
    const isSame =
      before !== null &&
      store.keyOf(before.place) === store.keyOf(place) &&
      before.embedding.numPoints === embedding.numPoints;
    store.loaded.value = next;
    store.saved.value = recallSelections(store.keyOf(place));
    store.loading.value = { state: "idle" };
    store.hovered.value = null;
    // Points of another embedding are other points; those of another step are the same ones later.
    if (isSame) return;
    store.selected.value = [];
    store.isolated.value = null;
    store.isolatedNames.value = new Set();
  });
}

/** A selection that the address names is chosen when its embedding comes. */
function takeSelection(): () => void {
  let taken = "";
  return effect(() => {
    const here = store.loaded.value;
    const name = param("selection");
    if (here === null) return;
    const key = `${store.keyOf(here.place)} ${name}`;
    if (key === taken) return;
    taken = key;
    if (name === "") {
      store.selectionNote.value = "";
      return;
    }
    const points = store.saved.peek().get(name);
    store.selectionNote.value =
      points === undefined ? `The selection “${name}” is not in the memory of this browser.` : "";
    if (points !== undefined) store.selected.value = points.filter((point) => point < here.embedding.numPoints);
  });
}
