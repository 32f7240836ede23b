/** Everything that the views of parameters show: rows, columns, axes, colours; put together from data and choices. */
import { computed, signal } from "@preact/signals";
import { NUM_COLOURS } from "../../data/run-colours";
import { chosen, colourSlot, runsById } from "../../data/runs";
import { themeTick } from "../../data/store";
import { readInk } from "../../plot/Drawing";
import { escaped, unescaped } from "../../plot/figure-options";
import { parseHex, rampBytes } from "../../ui/colour-scale";
import { type Order, sortedBy } from "../../ui/sorting";
import type { HparamsRow, RunListing } from "../../wire";
import { type Axis, axisOf } from "./axes";
import { type Column, columnsOf, differs, firstShown, type Value } from "./columns";
import * as state from "./state";

/** The choice of the runs' own colours, where a column would be named. */
export const BY_RUN = "run";

/** What the server said last. */
export const answered = signal<readonly HparamsRow[]>([]);

const rows = computed<readonly HparamsRow[]>(() => {
  const known = answered.value.filter(({ run_id }) => runsById.value.has(run_id));
  if (state.whichRuns.value === "all") return known;
  const ids = new Set(chosen.value.map(({ id }) => id));
  return known.filter(({ run_id }) => ids.has(run_id));
});

export const columns = computed(() => columnsOf(rows.value, runsById.value));
const runIds = computed(() => rows.value.map(({ run_id }) => run_id));

/** The columns that are shown by themselves. */
export const byItself = computed<ReadonlySet<string>>(() => {
  const first = firstShown(columns.value);
  if (state.sameColumns.value === "shown") return first;
  return new Set(
    columns.value
      .filter(
        ({ key, family }) =>
          first.has(key) && (family === "metric" || runIds.value.length < 2 || isDifferent(key)),
      )
      .map(({ key }) => key),
  );
});

function isDifferent(key: string): boolean {
  const column = columns.value.find((one) => one.key === key);
  return column !== undefined && differs(column, runIds.value);
}

/** In the order of the axes. */
export const shownColumns = computed<readonly Column[]>(() =>
  arranged(
    columns.value.filter(({ key }) => state.isColumnShown(key, byItself.value.has(key))),
    state.axisOrder.value,
  ),
);

/** An axis with a place for nearly every run says nothing: the table has such columns. */
const MAX_WORDS = 30;

function numWords({ values }: Column): number {
  return new Set([...values.values()].map(String)).size;
}

export const axes = computed<readonly Axis[]>(() =>
  shownColumns.value
    .filter((column) => column.isNumeric || numWords(column) <= MAX_WORDS)
    .map((column) => axisOf(column, runIds.value, state.scaleOf(column.key))),
);

/** The axis of any column, shown or not. */
export function axisFor(key: string): Axis | null {
  const column = columns.value.find((one) => one.key === key);
  return column === undefined ? null : axisOf(column, runIds.value, state.scaleOf(key));
}

export const allRuns = computed<readonly RunListing[]>(() =>
  runIds.value.flatMap((id) => runsById.value.get(id) ?? []),
);

/** The runs that the filter and all brushes let through, sorted. */
export const keptRuns = computed<readonly RunListing[]>(() => {
  const test = filterOf(state.filterText.value, columns.value);
  const kept = allRuns.value.filter(
    ({ id, name }) => test(id, name) && passes(axes.value, state.brushes.value, id),
  );
  return sortRows(kept, columns.value, state.order.value);
});

export const keptIds = computed<ReadonlySet<string>>(() => new Set(keptRuns.value.map(({ id }) => id)));

/** The colours of the sequential map, as the theme has them now. */
export const rampStops = computed<readonly string[]>(() =>
  themeTick.value >= 0 ? readInk().sequential : [],
);

/** Without a choice: the colours of the runs, or those of the first metric where runs would share them. */
const shownColour = computed<string>(() => {
  if (state.colourKey.value !== "") return state.colourKey.value;
  const metric = shownColumns.value.find(({ family, isNumeric }) => family === "metric" && isNumeric);
  return allRuns.value.length > NUM_COLOURS && metric !== undefined ? metric.key : BY_RUN;
});

export const colouring = computed<Colouring>(() => {
  const axis = shownColour.value === BY_RUN ? null : axisFor(shownColour.value);
  return axis === null ? { of: (runId) => `var(--cat-${colourSlot(runId)})`, axis: null } : valueColouring(axis, rampStops.value);
});

// --- Which runs a text lets through: words of their names and values, and comparisons such as `lr<0.01`.

const COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)(.+)$/;

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

type Test = (runId: string, runName: string) => boolean;

export function filterOf(text: string, columns: readonly Column[]): Test {
  const tests = text
    .split(/\s+/)
    .filter((term) => term !== "")
    .map((term) => termTest(term, columns));
  return (runId, runName) => tests.every((test) => test(runId, runName));
}

function termTest(term: string, columns: readonly Column[]): Test {
  const [, name = "", sign = "", wanted = ""] = COMPARISON.exec(term) ?? [];
  const column = columns.find((one) => one.name === name);
  if (column === undefined) return wordTest(term.toLowerCase(), columns);
  return (runId) => {
    const value = column.values.get(runId);
    if (sign === "=") return isEqual(value, wanted);
    if (sign === "!=") return !isEqual(value, wanted);
    const limit = Number(wanted);
    return typeof value === "number" && !Number.isNaN(limit) && COMPARE[sign]!(value, limit);
  };
}

function isEqual(value: Value | undefined, wanted: string): boolean {
  if (typeof value === "number") return value === Number(wanted);
  return value !== undefined && value !== null && String(value).toLowerCase() === wanted.toLowerCase();
}

function wordTest(word: string, columns: readonly Column[]): Test {
  return (runId, runName) =>
    runName.toLowerCase().includes(word) ||
    columns.some(({ values }) => {
      const value = values.get(runId);
      return typeof value === "string" && value.toLowerCase().includes(word);
    });
}

// --- The order of rows and of axes.

interface Named {
  readonly id: string;
  readonly name: string;
}

export function sortRows<Row extends Named>(rows: readonly Row[], columns: readonly Column[], { column: key, isDown }: Order): Row[] {
  const column = columns.find((one) => one.key === key);
  return sortedBy(rows, (row) => (column === undefined ? row.name : (column.values.get(row.id) ?? null)), isDown);
}

/** First those that were named, in their order, then the rest as they come. */
export function arranged(columns: readonly Column[], order: readonly string[]): Column[] {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const named = order.flatMap((key) => byKey.get(key) ?? []);
  return [...named, ...columns.filter((column) => !named.includes(column))];
}

/** The keys with one of them moved to another place. */
export function movedTo(keys: readonly string[], key: string, to: number): string[] {
  const rest = keys.filter((one) => one !== key);
  rest.splice(Math.min(rest.length, Math.max(0, to)), 0, key);
  return rest;
}

// --- The colour of a run's line: its own, or that of a value on a scale.

interface Colouring {
  /** A CSS colour. */
  of(runId: string): string;
  /** What the scale means; null for the colours of the runs. */
  readonly axis: Axis | null;
}

/** The quiet end of the map would not be seen as a thin line. */
const FIRST_SHARE = 0.25;

/** By the place of a value on its axis; a run without one has the colour of captions. */
function valueColouring(axis: Axis, stops: readonly string[]): Colouring {
  const colourAt = rampOf(stops);
  return {
    axis,
    of: (runId) => {
      const place = axis.place(axis.column.values.get(runId));
      return place === null ? "var(--text-3)" : colourAt(place);
    },
  };
}

/** The part of the map that is used, from the lowest to the highest. */
export function shownRamp(stops: readonly string[]): string {
  return `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(rampOf(stops)).join(", ")})`;
}

function rampOf(stops: readonly string[]): (share: number) => string {
  const ramp = rampBytes(stops.map(parseHex));
  return (share) => {
    const at = Math.round((FIRST_SHARE + (1 - FIRST_SHARE) * share) * 255) * 4;
    return `rgb(${ramp[at]} ${ramp[at + 1]} ${ramp[at + 2]})`;
  };
}

// --- Parts of axes that were brushed: only the runs that pass through all of them stay.

/** From one end to the other, in the unit of the axis, so that it holds also when the axis grows. */
export interface Brush {
  readonly low: number;
  readonly high: number;
}

/** By the key of the column. */
export type Brushes = ReadonlyMap<string, Brush>;

/** Rounding must not put out a run that stands at the very edge. */
const SLACK = 1e-4;
const LEAST = 0.01; // of an axis: what is shorter is a click

export function passes(axes: readonly Axis[], brushes: Brushes, runId: string): boolean {
  return axes.every((axis) => {
    const brush = brushes.get(axis.column.key);
    if (brush === undefined) return true;
    const place = axis.place(axis.column.values.get(runId));
    if (place === null) return false;
    return place >= axis.placeOfUnit(brush.low) - SLACK && place <= axis.placeOfUnit(brush.high) + SLACK;
  });
}

/** What was drawn from one place of an axis to another; null for what is too short to be meant. */
export function brushFrom(axis: Axis, from: number, to: number): Brush | null {
  const within = (place: number): number => Math.min(1, Math.max(0, place));
  const [low, high] = [within(Math.min(from, to)), within(Math.max(from, to))];
  return high - low < LEAST ? null : { low: axis.unitAt(low), high: axis.unitAt(high) };
}

export function readBrushes(text: string): Brushes {
  const brushes = new Map<string, Brush>();
  for (const part of text.split(",")) {
    const [key = "", from = "", to = ""] = part.split("~");
    const [low, high] = [Number(from), Number(to)];
    if (key !== "" && from !== "" && to !== "" && low <= high) brushes.set(unescaped(key), { low, high });
  }
  return brushes;
}

export function writeBrushes(brushes: Brushes): string {
  return [...brushes].map(([key, { low, high }]) => `${escaped(key)}~${short(low)}~${short(high)}`).join(",");
}

function short(unit: number): string {
  return String(Number(unit.toPrecision(6)));
}
