/** What the table of runs shows: its filter, its state, its order, the rows that are left, and the row one is at. */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "../route";
import type { RunListing, RunState } from "../wire";
import { parseFilter } from "./filtering";
import { readOrder, sortRuns, writeOrder, type Order } from "./sorting";
import { runs } from "./store";

export const STATES: readonly (readonly [RunState, string])[] = [
  ["running", "Running"],
  ["finished", "Finished"],
  ["died", "Died"],
  ["unknown", "Unknown"],
];

export const filterText = computed(() => param("q"));
export const filter = computed(() => parseFilter(filterText.value));
export const stateShown = computed<RunState | null>(
  () => STATES.find(([state]) => state === param("state"))?.[0] ?? null,
);
export const order = computed<Order>(() => readOrder(param("sort")));

const filtered = computed(() => runs.value.filter((run) => filter.value.matches(run)));

/** How many runs the filter leaves in each state. */
export const stateCounts = computed(() => {
  const counts = new Map<RunState, number>();
  for (const { state } of filtered.value) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
});

export const numFiltered = computed(() => filtered.value.length);

export const rows = computed<readonly RunListing[]>(() => {
  const wanted = stateShown.value;
  return sortRuns(
    wanted === null ? filtered.value : filtered.value.filter((run) => run.state === wanted),
    order.value,
  );
});

export function setFilter(text: string): void {
  setParams({ q: text === "" ? null : text });
}

export function showState(state: RunState | null): void {
  setParams({ state });
}

export function sortBy(next: Order): void {
  setParams({ sort: writeOrder(next) });
}

/** The run that the keyboard is at. It stays the same run when the rows change places. */
export const cursor = signal<string | null>(null);

/** Its row; the first where it is not there. -1 where there are no rows. */
export const cursorRow = computed(() => {
  const at = rows.value.findIndex((run) => run.id === cursor.value);
  return at < 0 ? Math.min(0, rows.value.length - 1) : at;
});
