/** What the charts of the page share: which there are, the cursor, which groups are open. */
import { computed, effect, signal } from "@preact/signals";
import { searchTest } from "../../data/globs";
import { recall, remember } from "../../data/remembered";
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

function* scalarsOfChosen(): Iterable<Scalar> {
  for (const run of runs.chosen.value) {
    for (const series of runs.index.value.get(run.id)?.values() ?? []) if (series.kind === "scalar") yield series;
  }
}

/** Changes only with the names: the index itself changes with every point. */
const scalarNames = computed(() => {
  const seen = new Map<string, string>();
  for (const { name, description } of scalarsOfChosen()) {
    // A run of older days may have none.
    if ((seen.get(name) ?? "") === "") seen.set(name, description);
  }
  return JSON.stringify([...seen]);
});

export const groups = computed<readonly Group[]>(() => {
  const pairs = JSON.parse(scalarNames.value) as [string, string][];
  return groupsOf(
    pairs.map(([name, description]) => ({ name, description })),
    layouts.value,
  );
});

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

/** The chosen runs as the charts need them; the same object as long as nothing of it has changed. */
const runsText = computed(() => {
  const isLost = store.source.value?.connection.value.state === "lost";
  const found = runs.chosen.value.map(
    (run): ChartRun => ({ id: run.id, name: run.name, slot: runs.colourSlot(run.id), end: endOfRun(run, isLost) }),
  );
  return JSON.stringify(found);
});

function endOfRun({ state }: RunListing, isLost: boolean): End {
  if (state === "died") return "died";
  return isLost && state !== "finished" ? "lost" : "plain";
}

export const chartRuns = computed(() => JSON.parse(runsText.value) as readonly ChartRun[]);

const MEMORY = "closed-chart-groups";
const MAX_REMEMBERED = 500;

/** Groups that were closed or, where they are closed at first, opened. */
const turnedGroups = signal<ReadonlySet<string>>(new Set(recalledGroups()));

function recalledGroups(): string[] {
  try {
    const keys = JSON.parse(recall(MEMORY) ?? "[]") as unknown;
    return Array.isArray(keys) ? keys.filter((key): key is string => typeof key === "string") : [];
  } catch {
    return [];
  }
}

export function isOpen(group: string): boolean {
  return turnedGroups.value.has(group) === isWatcherGroup({ key: group });
}

export function setGroupOpen(group: string, isWanted: boolean): void {
  const next = new Set(turnedGroups.value);
  if (isWanted === isWatcherGroup({ key: group })) next.add(group);
  else next.delete(group);
  turnedGroups.value = next;
  remember(MEMORY, JSON.stringify([...next].slice(-MAX_REMEMBERED)));
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
const wanted = computed(() => {
  const found: Wanted[] = [];
  for (const { id } of runs.chosen.value) {
    for (const { kind, name, count } of runs.index.value.get(id)?.values() ?? []) {
      if (kind === "layout") found.push({ runId: id, name, count });
    }
  }
  return JSON.stringify(found);
});

const layouts = computed<readonly ShownLayoutGroup[]>(() =>
  (JSON.parse(wanted.value) as Wanted[]).flatMap((one) => known.value.get(keyOf(one)) ?? []),
);

function keyOf({ runId, name, count }: Wanted): string {
  return JSON.stringify([runId, name, count]);
}

/** Ask for the layouts of the chosen runs as they come; call what it returns to stop. */
export function followLayouts(): () => void {
  const asked = new Set<string>();
  return effect(() => {
    const source = store.source.value;
    if (source === null) return;
    for (const one of JSON.parse(wanted.value) as Wanted[]) {
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
