/** What the table of runs shows: its filter, its state, its order, the rows that are left, and the row one is at. */
import { computed, signal } from "@preact/signals";
import { recall, remember } from "../../data/remembered";
import { param, setParams } from "../../data/route";
import { runs } from "../../data/runs";
import { parseFilter } from "../../ui/run-filter";
import { isOfWatcher } from "../../ui/run-states";
import { nextOrder, type Order, orderText, readOrder, sortedBy } from "../../ui/sorting";
import type { RunListing, RunState } from "../../wire";

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
export const order = computed<Order>(() => orderOf(param("sort")));

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

/** The run that the keyboard is at. It stays the same run when the rows change places. */
export const cursor = signal<string | null>(null);

/** Its row; the first where it is not there. -1 where there are no rows. */
export const cursorRow = computed(() => {
  const at = rows.value.findIndex((run) => run.id === cursor.value);
  return at < 0 ? Math.min(0, rows.value.length - 1) : at;
});

// --- The order of the runs in their table: by a column's id, or by `m:` and the name of a metric.

/** As it is where nobody chose: what has changed last stands first. */
export const FIRST_ORDER: Order = { column: "updated", isDown: true };

type Key = string | number | null;

const KEYS: Record<string, (run: RunListing) => Key> = {
  name: (run) => run.name,
  state: (run) => ["running", "died", "finished", "unknown"].indexOf(run.state),
  spark: (run) => run.spark.findLast((value) => value !== null) ?? null,
  step: (run) => run.last_step,
  duration: (run) => run.updated - run.started,
  // What is running changes all the time: among themselves such runs stay where they are.
  updated: (run) => (run.state === "running" ? Number.MAX_VALUE : run.updated),
  started: (run) => run.started,
  host: (run) => run.host,
  tags: (run) => run.tags.join(" "),
  series: (run) => run.num_series,
  size: (run) => run.num_bytes,
};

export function metricColumn(name: string): string {
  return `m:${name}`;
}

/** What is not known in the address sorts as nothing was said. */
export function orderOf(text: string): Order {
  const order = readOrder(text);
  return order.column.startsWith("m:") || Object.hasOwn(KEYS, order.column) ? order : FIRST_ORDER;
}

/** A press on a column's head. */
export function pressHead(column: string): void {
  const text = orderText(nextOrder(order.peek(), column, ["name", "state", "host", "tags"].includes(column)));
  setParams({ sort: text === orderText(FIRST_ORDER) ? null : text });
}

export function sortRuns(runs: readonly RunListing[], { column, isDown }: Order): readonly RunListing[] {
  const key: (run: RunListing) => Key = column.startsWith("m:")
    ? (run) => metricOf(run, column.slice(2)) ?? null
    : (KEYS[column] ?? KEYS.updated!);
  return sortedBy(runs, key, isDown);
}

// --- The columns of the table of runs: which there are, which are shown, and by what they sort.

export type FixedColumn =
  "state" | "spark" | "step" | "duration" | "updated" | "started" | "host" | "tags" | "series" | "size";

export const FIXED: readonly { readonly id: FixedColumn; readonly title: string }[] = [
  { id: "state", title: "State" },
  { id: "spark", title: "Loss" },
  { id: "step", title: "Step" },
  { id: "duration", title: "Duration" },
  { id: "updated", title: "Updated" },
  { id: "started", title: "Started" },
  { id: "host", title: "Host" },
  { id: "tags", title: "Tags" },
  { id: "series", title: "Series" },
  { id: "size", title: "Size" },
];

const SHOWN_FIRST: readonly FixedColumn[] = ["state", "spark", "step", "duration", "updated", "host"];
const NUM_METRICS_FIRST = 2;
/** More than fit on any screen; and what is remembered may be anything. */
const MAX_METRICS = 24;
const MEMORY = "run-columns";

interface Choice {
  readonly fixed: readonly FixedColumn[];
  /** Null where nobody chose: then those that most runs have. */
  readonly metrics: readonly string[] | null;
}

const choice = signal<Choice>(recalled(recall(MEMORY)));

export const shownFixed = computed(() => new Set(choice.value.fixed));

/** All metrics of all runs, those that most of them have first. */
export const metricNames = computed<readonly string[]>(() => {
  const uses = new Map<string, number>();
  for (const run of runs.value) for (const { name } of run.metrics) uses.set(name, (uses.get(name) ?? 0) + 1);
  // Sorting keeps the order of equals, which is the server's: loss and accuracy first.
  return [...uses].sort(([, a], [, b]) => b - a).map(([name]) => name);
});

export const shownMetrics = computed<readonly string[]>(() => {
  const names = metricNames.value;
  const chosen = choice.value.metrics;
  // A metric that no run has would be an empty column; it comes back with the runs that have it.
  if (chosen !== null) return chosen.filter((name) => names.includes(name));
  const likely = names.filter((name) => !isOfWatcher(name));
  const score = likely.find((name) => /acc|top|f1|auc|map|score|iou|bleu/i.test(name));
  const loss = likely.find((name) => /loss/i.test(name));
  const first = [loss, score].filter((name) => name !== undefined);
  return [...new Set([...first, ...likely])].slice(0, NUM_METRICS_FIRST);
});

export function showFixed(id: FixedColumn, isShown: boolean): void {
  const ids = new Set(choice.value.fixed);
  if (isShown) ids.add(id);
  else ids.delete(id);
  choose({ ...choice.value, fixed: FIXED.map((one) => one.id).filter((one) => ids.has(one)) });
}

export function showMetric(name: string, isShown: boolean): void {
  const others = shownMetrics.value.filter((one) => one !== name);
  choose({ ...choice.value, metrics: (isShown ? [...others, name] : others).slice(-MAX_METRICS) });
}

export function resetColumns(): void {
  choose({ fixed: SHOWN_FIRST, metrics: null });
}

function choose(next: Choice): void {
  choice.value = next;
  remember(MEMORY, JSON.stringify(next));
}

function recalled(text: string | null): Choice {
  try {
    const { fixed, metrics } = JSON.parse(text ?? "{}") as { fixed?: unknown; metrics?: unknown };
    return {
      fixed: Array.isArray(fixed)
        ? FIXED.map(({ id }) => id).filter((id) => fixed.includes(id))
        : SHOWN_FIRST,
      metrics: Array.isArray(metrics) ? metrics.filter((name) => typeof name === "string") : null,
    };
  } catch {
    return { fixed: SHOWN_FIRST, metrics: null };
  }
}

/** The last value of a metric; undefined where the run has none, null where it is NaN or infinite. */
export function metricOf(run: RunListing, name: string): number | null | undefined {
  return run.metrics.find((metric) => metric.name === name)?.value;
}
