/** The columns of the table of runs: which there are, which are shown, and by what they sort. */
import { computed, signal } from "@preact/signals";
import { recall, remember } from "../remembered";
import type { RunListing } from "../wire";
import { runs } from "./store";
import { isOfWatcher } from "./watchernames";

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
