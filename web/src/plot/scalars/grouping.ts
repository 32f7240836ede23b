/** Which charts there are: one for each name, those that were logged together in one, in groups by their prefix. */
import { groupBy } from "../../data/collections";
import { globTest, type Test } from "../../data/globs";
import { WATCHER_GROUP } from "../../ui/run-states";
import type { ShownLayoutGroup } from "../../wire";

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
    const chart = charts.get(key) ?? { title, group, members: new Map<string, Member>() };
    charts.set(key, chart);
    const label = main === null ? name : name.slice(main.length + 1);
    chart.members.set(name, { name, label });
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
