/** What the charts of the page share: which there are, the cursor, which groups are open. */
import { computed, effect, signal } from "@preact/signals";
import { groupBy, obtain, steady } from "../../data/collections";
import { globTest, searchTest, type Test } from "../../data/globs";
import { rememberedNames } from "../../data/remembered";
import { askOf } from "../../data/requests";
import * as runs from "../../data/runs";
import * as store from "../../data/store";
import { WATCHER_GROUP } from "../../ui/run-states";
import type { RunListing, ShownLayoutGroup } from "../../wire";
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
export const filter = computed(() => searchTest(filterText.value));

export const shownGroups = computed<readonly Group[]>(() =>
  filterText.value === "" ? groups.value : filtered(groups.value, filter.value),
);

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

const known = signal<ReadonlyMap<string, readonly ShownLayoutGroup[]>>(new Map());

/** Changes only when a layout comes or changes. */
const wanted = steady(() =>
  runs.chosen.value.flatMap(({ id }) =>
    [...(runs.index.value.get(id)?.values() ?? [])]
      .filter(({ kind }) => kind === "layout")
      .map(({ name, count }) => ({ key: `${id} ${count} ${name}`, runId: id, name })),
  ),
);

const layouts = computed(() => wanted.value.flatMap(({ key }) => known.value.get(key) ?? []));

/** Ask for the layouts of the chosen runs as they come; call what it returns to stop. */
export function followLayouts(): () => void {
  const asked = new Set<string>();
  return effect(() => {
    if (store.source.value === null) return;
    for (const { key, runId, name } of wanted.value) {
      if (asked.has(key)) continue;
      asked.add(key);
      askOf({ type: "layout", run_id: runId, name }, "layout").then(
        ({ answer }) => (known.value = new Map(known.peek()).set(key, answer.groups)),
        () => asked.delete(key), // the charts by prefix are there all the same
      );
    }
  });
}

/** Charts over time have a cursor too, but it stands at no step. */
const isShared = computed(() => options.value.axis === "step" && options.value.hasSharedCursor);

export const cursorStep = computed<number | null>(() => (isShared.value ? (cursor.value?.x ?? null) : null));

/** The pointer is at a step of a picture, or at none any more. */
export function pointAt(step: number | null, picture: string): void {
  if (!isShared.peek()) return;
  if (step !== null) cursor.value = { x: step, chart: picture };
  else if (cursor.peek()?.chart === picture) cursor.value = null;
}

// --- Which charts there are: one for each name, those that were logged together in one, in groups by their prefix.

export interface Scalar {
  readonly name: string;
  /** `of main` for those that were logged together. */
  readonly description: string;
}

export interface Member {
  readonly name: string;
  /** What tells it from the others in its chart. */
  readonly label: string;
}

export interface Chart {
  /** The same as long as there is this chart. */
  readonly key: string;
  readonly title: string;
  /** With its group, for where it stands alone. */
  readonly fullTitle: string;
  /**
   * A margin has three members: value, lower and upper end. In a keyed chart each member has a colour of its own,
   * whatever the run, and a legend says which.
   */
  readonly form: "lines" | "margin" | "keyed";
  readonly members: readonly Member[];
  /** Does a run itself ask for it, besides those that there are anyway? */
  readonly isAsked: boolean;
}

/** An expression that a run asks for, and that is no glob. */
export interface NotSupported {
  readonly chart: string;
  readonly pattern: string;
}

export interface Group {
  readonly key: string;
  readonly title: string;
  readonly charts: readonly Chart[];
  readonly notSupported: readonly NotSupported[];
}

const NO_PREFIX = "scalars";
/** A chart without a key could not stand in the address. */
const NO_NAME = "(no name)";
const TOGETHER = /^of (.+)$/s;

/** Scalars of several runs, each name once, in the order in which they were first seen; those of a watcher last. */
export function groupsOf(scalars: Iterable<Scalar>, layouts: readonly ShownLayoutGroup[] = []): Group[] {
  const charts = new Map<string, { title: string; group: string; members: Map<string, Member> }>();
  const names = new Set<string>();
  for (const { name, description } of scalars) {
    names.add(name);
    const main = mainOf(name, description);
    const key = main ?? (name === "" ? NO_NAME : name);
    const [group, title] = split(key);
    const label = main === null ? name : name.slice(main.length + 1);
    obtain(charts, key, () => ({ title, group, members: new Map<string, Member>() })).members.set(name, { name, label });
  }
  const groups = groupBy(charts, ([, { group }]) => group);
  const made = [...groups].map(([group, found]): Group => {
    const its = found.map(([key, { title, members }]): Chart => ({
      key,
      title,
      fullTitle: key,
      form: "lines",
      members: [...members.values()],
      isAsked: false,
    }));
    return { key: group, title: group, charts: its, notSupported: [] };
  });
  return [
    ...layoutGroups(layouts, [...names]),
    ...made.filter((group) => !isWatcherGroup(group)),
    ...made.filter(isWatcherGroup),
  ];
}

/** Is it what a watcher logs of itself? It stands at the end of the page, and is closed at first. */
export function isWatcherGroup({ key }: Pick<Group, "key">): boolean {
  return key === WATCHER_GROUP;
}

/** The name under which it was logged together with others; null where it was logged alone. */
function mainOf(name: string, description: string): string | null {
  const main = TOGETHER.exec(description)?.[1] ?? null;
  // Anybody may begin a description with these words.
  return main !== null && name.startsWith(`${main}/`) ? main : null;
}

function split(name: string): [group: string, title: string] {
  const at = name.indexOf("/");
  return at <= 0 || at === name.length - 1 ? [NO_PREFIX, name] : [name.slice(0, at), name.slice(at + 1)];
}

function layoutGroups(layouts: readonly ShownLayoutGroup[], names: readonly string[]): Group[] {
  const groups = new Map<string, Group>();
  const known = new Set(names);
  for (const { title, charts } of layouts) {
    const key = `layout ${title}`;
    if (groups.has(key)) continue;
    const made = charts.map(({ title: name, form, names: wanted, globs }): Chart => {
      const found = form === "margin" ? wanted.slice(0, 3) : named(wanted, globs, names);
      const members = found.map((one) => ({ name: one, label: one }));
      return { key: `${key}/${name}`, title: name, fullTitle: `${title}/${name}`, form, members, isAsked: true };
    });
    const shown = made.filter(({ form, members }) => members.length > 0 && (form === "lines" || members.length === 3));
    // What is the name of something is no expression.
    const notSupported = charts.flatMap((chart) =>
      chart.not_supported.filter((one) => !known.has(one)).map((pattern) => ({ chart: chart.title, pattern })),
    );
    if (shown.length > 0 || notSupported.length > 0) groups.set(key, { key, title, charts: shown, notSupported });
  }
  return [...groups.values()];
}

function named(wanted: readonly string[], globs: readonly string[], names: readonly string[]): string[] {
  const known = new Set(names);
  return [...new Set([...wanted.filter((name) => known.has(name)), ...names.filter(globTest(globs))])];
}

/** The charts whose names pass, in groups that have some left. */
export function filtered(groups: readonly Group[], test: Test): Group[] {
  const kept = groups.map((group) => {
    const charts = group.charts.filter(
      ({ fullTitle, members }) => test(fullTitle) || members.some(({ name }) => test(name)),
    );
    return { ...group, charts };
  });
  return kept.filter(({ charts }) => charts.length > 0);
}
