/** The state of the search: what is asked for, what was found, which hit is on. */
import { computed, effect, signal } from "@preact/signals";
import * as store from "../../../data/store";
import { SearchIndex } from "./search-index";

export const query = signal("");
/** Place of the current hit in `hits`, -1 before the first step. */
export const current = signal(-1);

const index = computed(() => {
  const [hierarchy, document] = [store.hierarchy.value, store.document.value];
  return hierarchy === null || document === null ? null : new SearchIndex(hierarchy, document);
});

export const hits = computed<readonly string[]>(() =>
  query.value.trim() === "" ? [] : (index.value?.find(query.value) ?? []),
);

export function search(text: string): void {
  query.value = text;
  current.value = -1;
}

/** Go to the next hit (+1) or the one before (−1), around the ends. */
export function step(by: number): void {
  const count = hits.value.length;
  if (count === 0) return;
  const from = current.value < 0 && by < 0 ? 0 : current.value;
  goToHit((from + by + count) % count);
}

export function goToHit(at: number): void {
  const key = hits.value[at];
  if (key === undefined) return;
  current.value = at;
  store.goTo(key);
}

/** Show the hits in the graph too. */
export function startFinding(): void {
  effect(() => {
    store.searchHits.value = new Set(hits.value);
  });
}
