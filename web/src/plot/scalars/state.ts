/** What the charts of the page share: which there are, the cursor, which groups are open. */
import { computed, effect, signal } from "@preact/signals";
import { steady } from "../../data/collections";
import { searchTest } from "../../data/globs";
import { rememberedNames } from "../../data/remembered";
import * as runs from "../../data/runs";
import * as store from "../../data/store";
import type { RunListing, ShownLayoutGroup } from "../../wire";
import { type Chart, filtered, type Group, groupsOf, isWatcherGroup, type Scalar } from "./grouping";
import type { ChartRun, End } from "./model";
import { options } from "./options";

export interface Cursor {
  /** Along the axis, in its unit. */
  readonly x: number;
  /** The key of the chart or picture that it stands on. */
  readonly chart: string;
}

export const cursor = signal<Cursor | null>(null);

/** Where the cursor stands on a chart; null where it does not. */
export function placeOfCursor(chartKey: string): number | null {
  const now = cursor.value;
  if (now === null) return null;
  return options.value.hasSharedCursor || now.chart === chartKey ? now.x : null;
}

/** What the keyboard cursor stands on, for those who hear it. */
export const spoken = signal("");

/** Changes only with the names: the index itself changes with every point. */
const scalars = steady<readonly Scalar[]>(() => {
  const seen = new Map<string, string>();
  for (const run of runs.chosen.value) {
    for (const { kind, name, description } of runs.index.value.get(run.id)?.values() ?? []) {
      // A run of older days may have no description.
      if (kind === "scalar" && (seen.get(name) ?? "") === "") seen.set(name, description);
    }
  }
  return [...seen].map(([name, description]) => ({ name, description }));
});

export const groups = computed<readonly Group[]>(() => groupsOf(scalars.value, layouts.value));

const filterText = computed(() => options.value.filter);
/** Which names the filter of the page lets through. */
export const filter = computed(() => searchTest(filterText.value));

export const shownGroups = computed<readonly Group[]>(() =>
  filterText.value === "" ? groups.value : filtered(groups.value, filter.value),
);

/** The charts by their keys. */
export const charts = computed<ReadonlyMap<string, Chart>>(
  () => new Map(groups.value.flatMap((group) => group.charts.map((chart) => [chart.key, chart]))),
);

/** The chosen runs as the charts need them. */
export const chartRuns = steady<readonly ChartRun[]>(() => {
  const isLost = store.source.value?.connection.value.state === "lost";
  return runs.chosen.value.map((run) => ({ id: run.id, name: run.name, slot: runs.colourSlot(run.id), end: endOfRun(run, isLost) }));
});

function endOfRun({ state }: RunListing, isLost: boolean): End {
  if (state === "died") return "died";
  return isLost && state !== "finished" ? "lost" : "plain";
}

/** Groups that were closed or, where they are closed at first, opened. */
const turnedGroups = rememberedNames("closed-chart-groups");

export function isOpen(group: string): boolean {
  return turnedGroups.has(group) === isWatcherGroup({ key: group });
}

export function setGroupOpen(group: string, isWanted: boolean): void {
  turnedGroups.set(group, isWanted === isWatcherGroup({ key: group }));
}

/** A chart to bring into view, by its key. A new object each time, so that asking twice works. */
export const reveal = signal<{ readonly chart: string } | null>(null);

/** Put the cursor at a step of a scalar, open its group and bring its chart into view. */
export function goToScalar(name: string, step: number): void {
  const group = groups.value.find(({ charts: all }) => all.some((chart) => hasMember(chart, name)));
  const chart = group?.charts.find((one) => hasMember(one, name));
  if (group === undefined || chart === undefined) return;
  setGroupOpen(group.key, true);
  if (options.peek().axis === "step") cursor.value = { x: step, chart: chart.key };
  reveal.value = { chart: chart.key };
}

function hasMember(chart: Chart, name: string): boolean {
  return chart.members.some((member) => member.name === name);
}

// --- The groups of charts that the chosen runs themselves ask for.

/** By run and name of the layout. */
const known = signal<ReadonlyMap<string, readonly ShownLayoutGroup[]>>(new Map());

interface Wanted {
  readonly runId: string;
  readonly name: string;
  readonly count: number;
}

/** Changes only when a layout comes or changes. */
const wanted = steady<readonly Wanted[]>(() =>
  runs.chosen.value.flatMap(({ id }) =>
    [...(runs.index.value.get(id)?.values() ?? [])]
      .filter(({ kind }) => kind === "layout")
      .map(({ name, count }) => ({ runId: id, name, count })),
  ),
);

const layouts = computed(() => wanted.value.flatMap((one) => known.value.get(keyOf(one)) ?? []));

function keyOf({ runId, name, count }: Wanted): string {
  return `${runId} ${count} ${name}`;
}

/** Ask for the layouts of the chosen runs as they come; call what it returns to stop. */
export function followLayouts(): () => void {
  const asked = new Set<string>();
  return effect(() => {
    const source = store.source.value;
    if (source === null) return;
    for (const one of wanted.value) {
      const key = keyOf(one);
      if (asked.has(key)) continue;
      asked.add(key);
      source.ask({ type: "layout", run_id: one.runId, name: one.name }).then(
        ({ answer }) => {
          if (answer.type === "layout") known.value = new Map(known.peek()).set(key, answer.groups);
        },
        () => asked.delete(key), // the charts by prefix are there all the same
      );
    }
  });
}

// --- The step under the pointer, in whichever picture or chart it is: all of them mark it.

/** Charts over time have a cursor too, but it stands at no step. */
const isShared = computed(() => options.value.axis === "step" && options.value.hasSharedCursor);

export const cursorStep = computed<number | null>(() => (isShared.value ? (cursor.value?.x ?? null) : null));

/** The pointer is at a step of a picture, or at none any more. */
export function pointAt(step: number | null, picture: string): void {
  if (!isShared.peek()) return;
  if (step !== null) cursor.value = { x: step, chart: picture };
  else if (cursor.peek()?.chart === picture) cursor.value = null;
}
