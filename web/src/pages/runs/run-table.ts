/** What the table of runs shows: filter, state, order, the rows that are left, the row one is at, the columns. */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "../../data/route";
import { runs } from "../../data/runs";
import { rememberedColumns } from "../../ui/Table";
import { parseFilter } from "../../ui/run-filter";
import { isOfWatcher } from "../../ui/run-states";
import { type Order, orderInAddress, sortedBy } from "../../ui/sorting";
import type { RunListing, RunState } from "../../wire";
import { columnOf, FIXED, METRIC, type RunColumn } from "./columns";

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
/** As it is where nobody chose: what has changed last stands first. */
export const { order, press: pressHead } = orderInAddress(
  "-updated",
  (key) => columnOf(key)?.isWords === true,
  (key) => columnOf(key) !== undefined,
);

const filtered = computed(() => runs.value.filter((run) => filter.value.matches(run)));

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

/** The run that the keyboard is at. It stays the same run when the rows change places. */
export const cursor = signal<string | null>(null);

/** Its row; the first where it is not there. -1 where there are no rows. */
export const cursorRow = computed(() => {
  const at = rows.value.findIndex((run) => run.id === cursor.value);
  return at < 0 ? Math.min(0, rows.value.length - 1) : at;
});

/** The order of the runs in their table: by a column's id, or by `m:` and the name of a metric. */
export function sortRuns(runs: readonly RunListing[], { column, isDown }: Order): readonly RunListing[] {
  return sortedBy(runs, columnOf(column)!.sortKey, isDown);
}

// --- Which columns are shown.

const SHOWN_FIRST = ["state", "spark", "step", "duration", "updated", "host"];
const NUM_METRICS_FIRST = 2;
/** More than fit on any screen. */
const MAX_METRICS = 24;

/** By the keys of columns. */
export const chosenColumns = rememberedColumns("run-columns");

export const shownFixed = computed(() => {
  const isShown = ({ key }: RunColumn): boolean => chosenColumns.choices.value.get(key) ?? SHOWN_FIRST.includes(key);
  return new Set(FIXED.filter(isShown).map(({ key }) => key));
});

/** All metrics of all runs, those that most of them have first. */
export const metricNames = computed<readonly string[]>(() => {
  const uses = new Map<string, number>();
  for (const run of runs.value) for (const { name } of run.metrics) uses.set(name, (uses.get(name) ?? 0) + 1);
  // Sorting keeps the order of equals, which is the server's: loss and accuracy first.
  return [...uses].sort(([, a], [, b]) => b - a).map(([name]) => name);
});

export const shownMetrics = computed<readonly string[]>(() => {
  const names = metricNames.value;
  const likely = names.filter((name) => !isOfWatcher(name));
  const score = likely.find((name) => /acc|top|f1|auc|map|score|iou|bleu/i.test(name));
  const loss = likely.find((name) => /loss/i.test(name));
  const found = [loss, score].filter((name) => name !== undefined);
  const first = [...new Set([...found, ...likely])].slice(0, NUM_METRICS_FIRST);
  const { value: choices } = chosenColumns.choices;
  const chosen = [...choices.keys()].flatMap((key) => (key.startsWith(METRIC) ? [key.slice(METRIC.length)] : []));
  // A metric that no run has would be an empty column; it comes back with the runs that have it.
  const isShown = (name: string): boolean => names.includes(name) && (choices.get(METRIC + name) ?? true);
  return [...new Set([...first, ...chosen])].filter(isShown).slice(-MAX_METRICS);
});
