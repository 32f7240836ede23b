/** What the plots of a training are of: the run that is written now, with the earlier ones since Init behind it. */
import { computed } from "@preact/signals";
import { isConnected } from "../../../data/connection";
import { about, control } from "../../../data/control";
import * as runs from "../../../data/runs";
import type { Subject } from "../../../plot/scalars/Plot";
import type { Chart } from "../../../plot/scalars/state";
import type { ChartRun, End } from "../../../plot/scalars/model";
import type { Plot } from "../../../wire";

/** More lines behind each other are no lines any more. */
export const MOST_BEHIND = 24;

/** As text, so that it changes only when it does, and not with every trial. */
const runsText = computed(() => JSON.stringify(chartRuns()));

function chartRuns(): ChartRun[] {
  const now = control.value;
  if (now === null) return [];
  const earlier = now.run_ids.filter((id) => id !== now.run_id).slice(-MOST_BEHIND);
  const ids = now.run_id === "" ? earlier : [...earlier, now.run_id];
  return ids.map((id, at): ChartRun => {
    const isBehind = id !== now.run_id;
    return { id, name: nameOf(id, at), slot: 1, end: isBehind ? "plain" : endOf(now.listing.state), isBehind };
  });
}

/** A run that has just begun may be on no list yet. */
export function nameOf(runId: string, at: number): string {
  return runs.runsById.value.get(runId)?.name ?? `run ${at}`;
}

function endOf(state: string): End {
  if (!isConnected.value) return state === "done" ? "plain" : "lost";
  return state === "died" || state === "failed" ? "died" : "plain";
}

const perEpoch = computed(() => {
  const count = control.value?.listing.counters.num_trials ?? null;
  return count !== null && count > 0 ? count : null;
});

export const subject: Subject = {
  runs: computed(() => JSON.parse(runsText.value) as readonly ChartRun[]),
  perEpoch,
  // What it will have is not known beforehand: a test may still come.
  has: () => true,
};

const plots = computed<readonly Plot[]>(() => about.value?.plots ?? []);

/** One for each plot that the training wants. Titles may be anybody's: the key tells them apart. */
export const charts = computed<readonly Chart[]>(() =>
  plots.value.map(({ title, lines }, at): Chart => {
    const members = lines.map(({ name, label }) => ({ name, label: label || name }));
    return { key: `plot ${at} ${title}`, title, fullTitle: title, form: "keyed", members, isAsked: true };
  }),
);
