/** What the page of layers shows. All that is chosen stands in the address. */
import { computed, type ReadonlySignal, signal, untracked } from "@preact/signals";
import { groupBy } from "../../data/collections";
import { param, setParams } from "../../data/route";
import { eventsOf, type RunEvents } from "../../data/run-events";
import * as runs from "../../data/runs";
import type { Span } from "../../plot/ticks";
import type { Scale } from "../../ui/colour-scale";
import type { RunListing, WatchedRow } from "../../wire";
import { linesOf, matches, TALL, THIN, UNSEEN } from "./rows";
import { type LogChoice, scalesOf, type Wish } from "./scales";
import { type Axis, bucketSpans, nearestBucket } from "./steps";
import { figureOf, type RowFigures, rowsWithAny, type WatchedGrid } from "./watched";

export const plotWidth = signal(0);

/** Which rows have the same colours for the same values. */
export type Sharing = "all" | "group" | "row";
const SHARINGS: readonly Sharing[] = ["all", "group", "row"];

// --- what is chosen ------------------------------------------------------------------------------

export const watchedRuns = computed<readonly RunListing[]>(() => {
  const names = runs.namesOf("watch");
  return runs.chosen.value.filter((run) => names.some((name) => runs.seriesOf(run.id, "watch", name) !== undefined));
});

export const run = computed<RunListing | null>(
  () => watchedRuns.value.find(({ id }) => id === param("run")) ?? watchedRuns.value[0] ?? null,
);
export const runId = computed(() => run.value?.id ?? "");

function wholeOf(name: string): number | null {
  const text = param(name);
  return /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

export const rank = computed(() => Math.max(0, wholeOf("rank") ?? 0));
export const column = computed(() => (param("fig") === "" ? "norm" : param("fig").slice(0, 64)));
export const rowName = computed(() => param("row"));
export const step = computed(() => wholeOf("step"));
export const filter = computed(() => param("find"));
export const isThin = computed(() => param("rows") === "thin");
export const sharing = computed<Sharing>(() => SHARINGS.find((one) => one === param("scale")) ?? "group");
/** Groups, by their roles. */
export const closed = computed<ReadonlySet<string>>(
  () => new Set([...param("shut").split(",").filter(Boolean), ...(param("unseen") === "yes" ? [] : [UNSEEN])]),
);

/** A part of the steps; null for all of them, and those that come. */
export const zoom = computed<Span | null>(() => {
  const [low, high] = [wholeOf("from"), wholeOf("to")];
  return low !== null && high !== null && high > low ? { low, high } : null;
});

export const wish = computed<Wish>(() => {
  const [low, high] = param("limits").split(",").map(Number);
  const isFixed = low !== undefined && high !== undefined && Number.isFinite(low) && Number.isFinite(high) && low !== high;
  const log: LogChoice = param("log") === "yes" ? "log" : param("log") === "no" ? "linear" : "auto";
  return { log, limits: isFixed && param("limits") !== "" ? [low, high] : null };
});

/** What came for what is chosen, and what takes it when it comes. Null as soon as something else is chosen. */
function comesFor<Value>(keyOf: () => string): readonly [ReadonlySignal<Value | null>, (value: Value) => void] {
  const held = signal<{ key: string; value: Value } | null>(null);
  const known = computed(() => (held.value !== null && held.value.key === keyOf() ? held.value.value : null));
  return [known, (value) => (held.value = { key: untracked(keyOf), value })];
}

const ofRank = (): string => `${runId.value} ${rank.value}`;

/** The last answer, also while the next one is on its way: its figure may still be the one before. */
export const [grid, takeGrid] = comesFor<WatchedGrid>(ofRank);
export const [figures, takeFigures] = comesFor<RowFigures>(() => `${ofRank()} ${rowName.value}`);
/** Rows that no watched step has. */
export const [unseen, takeUnseen] = comesFor<ReadonlySet<string>>(ofRank);
/** From the first to the last step, as far as it is known. */
export const [knownWhole, takeWhole] = comesFor<Span>(() => runId.value);
export const failure = signal("");

/** Records that were asked for and left out to keep the budget, of the rank that is shown. */
export const numUnaffordable = computed(() =>
  eventsOf(runId.value)
    .gaps.filter((gap) => gap.rank === rank.value && gap.reason === "budget")
    .reduce((sum, { num_missing }) => sum + num_missing, 0),
);

/** Alarms and gaps of the run, of the rank that is shown. */
export const events = computed<RunEvents>(() => {
  const { alarms, gaps } = eventsOf(runId.value);
  const isOurs = (one: { rank: number }): boolean => one.rank === rank.value;
  // What the budget leaves out is the rule and no event: one number says it.
  return { alarms: alarms.filter(isOurs), gaps: gaps.filter((gap) => isOurs(gap) && gap.reason !== "budget") };
});

/** The bucket whose figures stand above the charts: under the pointer, at the chosen step, or the last; -1 for none. */
export const shownBucket = computed<number>(() =>
  figures.value === null ? -1 : nearestBucket(bucketSpans(figures.value), pointed.value?.step ?? step.value),
);

export const shownFigure = computed(() => figureOf(grid.value?.column ?? column.value));

/** Rows that have nothing of a figure that only some have: they are left out. */
const hasAny = computed(() => (grid.value !== null && shownFigure.value.isRare === true ? rowsWithAny(grid.value) : null));

const NOTHING: ReadonlySet<string> = new Set();

/** Rows that were never seen. With a figure that only some have, they are left out like all others without it. */
export const unseenRows = computed(() => (hasAny.value === null ? (unseen.value ?? NOTHING) : NOTHING));

const NO_ROWS: readonly WatchedRow[] = [];

export const lines = computed(() =>
  linesOf(
    grid.value?.rows ?? NO_ROWS,
    { filter: filter.value, closed: closed.value, unseen: unseenRows.value, isShown: hasAny.value },
    isThin.value ? THIN : TALL,
  ),
);

export const numLeftOut = computed(() => hasAny.value?.filter((isThere) => !isThere).length ?? 0);

export const spans = computed(() => (grid.value === null ? [] : bucketSpans(grid.value)));

/** From the first to the last step of the figures. An address may name a part before all of it is known. */
const watchedSteps = computed<Span>(() => {
  if (knownWhole.value !== null) return knownWhole.value;
  const seen = { low: spans.value[0]?.low ?? 0, high: spans.value.at(-1)?.high ?? 1 };
  const part = zoom.value ?? seen;
  return { low: Math.min(seen.low, part.low), high: Math.max(seen.high, part.high) };
});

/** All steps that are known: of the figures, and of the alarms, which may be ahead of them. */
export const whole = computed<Span>(() => {
  const { low, high } = watchedSteps.value;
  const last = events.value.alarms.at(-1)?.step ?? -Infinity;
  return { low, high: Math.max(high, last + 0.5) };
});

export const axis = computed<Axis>(() => ({ ...(zoom.value ?? whole.value), width: plotWidth.value }));

export const scales = computed<ReadonlyMap<number, Scale>>(() => {
  if (grid.value === null) return new Map();
  const groups = groupBy(lines.value.rows, ({ row, index }) => ({ all: "", group: row.role, row: index })[sharing.value]);
  const sharingRows = [...groups.values()].map((its) => its.map(({ index }) => index));
  return scalesOf(grid.value, shownFigure.value.kind, sharingRows, wish.value);
});

/** The one of all rows; null where they do not share it. */
export const sharedScale = computed<Scale | null>(() => {
  if (sharing.value !== "all" && wish.value.limits === null) return null;
  const [first] = scales.value.values();
  return first ?? null;
});

/** Where the pointer, or the cursor of the keyboard, is: on a row, or on a step of a chart. */
export interface Pointed {
  readonly row: string | null;
  readonly step: number;
}

export const pointed = signal<Pointed | null>(null);
/** What the keyboard's cursor stands on, for those who hear it. */
export const spoken = signal("");

// --- ways to change it ---------------------------------------------------------------------------

export function chooseRow(name: string | null, at: number | null): void {
  setParams({ row: name, step: at === null ? null : String(at) });
}

export function setClosed(role: string, isClosed: boolean): void {
  if (role === UNSEEN) {
    setParams({ unseen: isClosed ? null : "yes" });
    return;
  }
  const next = new Set(closed.peek());
  next.delete(UNSEEN);
  if (isClosed) next.add(role);
  else next.delete(role);
  setParams({ shut: next.size === 0 ? null : [...next].join(",") });
}

/** Show a part of the steps, of whole ones; null shows all. */
export function setZoom(span: Span | null): void {
  if (span === null) {
    setParams({ from: null, to: null });
    return;
  }
  const low = Math.round(span.low);
  setParams({ from: String(low), to: String(Math.max(low + 1, Math.round(span.high))) });
}

/** Show some steps with as much again on either side. */
export function zoomAround(first: number, last: number): void {
  const room = Math.max(10, last - first + 1);
  const { low, high } = whole.peek();
  setZoom({ low: Math.max(low, first - room), high: Math.min(high, last + room) });
}

/** Open the group of a row, and let the filter, or a figure that it does not have, go where they hide it. */
export function uncover(name: string): void {
  const rows = grid.peek()?.rows ?? NO_ROWS;
  const row = rows.find((one) => one.name === name);
  if (row === undefined) return;
  if (hasAny.peek()?.[rows.indexOf(row)] === false) setParams({ fig: null, limits: null });
  const group = unseenRows.peek().has(name) ? UNSEEN : row.role;
  if (closed.peek().has(group)) setClosed(group, false);
  if (!matches(row, filter.peek())) setParams({ find: null });
}
