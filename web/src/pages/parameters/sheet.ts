/** What somebody chose to see of the parameters, as it stands in the address, and what the page shows by it. */
import { computed, signal } from "@preact/signals";
import { flagInAddress, inAddress } from "../../data/address-choice";
import { param, setParams } from "../../data/route";
import { NUM_COLOURS } from "../../data/run-colours";
import { chosen, colourSlot, runsById } from "../../data/runs";
import { themeTick } from "../../data/store";
import { escaped, flagsParam, listParam, textParam, unescaped } from "../../plot/figure-options";
import { readPalette } from "../../ui/colour-scale";
import { COMPARISONS } from "../../ui/run-filter";
import { type Order, orderInAddress, sortedBy } from "../../ui/sorting";
import type { HparamsRow, RunListing } from "../../wire";
import { type Axis, axisOf, type Column, columnsOf, differs, firstShown } from "./columns";

/** The run under the pointer, in any of the pictures. */
export const hoveredRun = signal<string | null>(null);

export const filterText = textParam("q");
/** All runs that have parameters, or only those that are chosen. */
export const whichRuns = inAddress("which", [["all", "All runs"], ["chosen", "Chosen"]]);
/** Columns that have one value for all runs say nothing about them. */
export const sameColumns = flagInAddress("same", "shown", false);
/** The column whose values colour the lines; empty where nobody chose. */
export const colourKey = textParam("colour");
export const scatterKeys = { x: textParam("x"), y: textParam("y") };
export const axisOrder = listParam("axes");
/** Columns against what is shown by itself: whether each is shown. */
const changes = flagsParam("cols");
/** Axes whose scale was chosen: whether it is logarithmic. */
const scales = flagsParam("scale");

/** Of a column; `run` for the name of the run, which is not written. */
export const { order, press: sortBy } = orderInAddress("run", (key) => columns.peek().find((one) => one.key === key)?.isNumeric !== true);
export const brushes = computed<Brushes>(() => readBrushes(param("brush")));

export function setLog(key: string, isLog: boolean): void {
  // A brush is a part of the axis as it was.
  setBrush(key, null);
  scales.set(key, isLog);
}

export function setBrush(key: string, brush: Brush | null): void {
  const next = new Map(brushes.peek());
  next.delete(key);
  if (brush !== null) next.set(key, brush);
  setParams({ brush: next.size === 0 ? null : writeBrushes(next) });
}

/** The choice of the runs' own colours, where a column would be named. */
export const BY_RUN = "run";

export const answered = signal<readonly HparamsRow[]>([]);

const rows = computed<readonly HparamsRow[]>(() => {
  const known = answered.value.filter(({ run_id }) => runsById.value.has(run_id));
  if (whichRuns.chosen === "all") return known;
  const ids = new Set(chosen.value.map(({ id }) => id));
  return known.filter(({ run_id }) => ids.has(run_id));
});

const runIds = computed(() => rows.value.map(({ run_id }) => run_id));
export const allRuns = computed<readonly RunListing[]>(() => runIds.value.flatMap((id) => runsById.value.get(id) ?? []));
export const columns = computed(() => columnsOf(rows.value, runsById.value));

const byItself = computed<ReadonlySet<string>>(() => {
  const first = firstShown(columns.value);
  const isTelling = (column: Column): boolean =>
    column.family === "metric" || runIds.value.length < 2 || differs(column, runIds.value);
  if (sameColumns.isOn) return first;
  return new Set(columns.value.flatMap((column) => (first.has(column.key) && isTelling(column) ? [column.key] : [])));
});

export function isColumnShown(key: string): boolean {
  return changes.value.get(key) ?? byItself.value.has(key);
}

export function showColumn(key: string, isShown: boolean): void {
  changes.set(key, isShown === byItself.peek().has(key) ? null : isShown);
}

/** In the order of the axes. */
export const shownColumns = computed<readonly Column[]>(() =>
  arranged(columns.value.filter(({ key }) => isColumnShown(key)), axisOrder.value),
);

/** An axis with a place for nearly every run says nothing: the table has such columns. */
const MAX_WORDS = 30;

function numWords({ values }: Column): number {
  return new Set([...values.values()].map(String)).size;
}

export function axisFor(column: Column): Axis {
  return axisOf(column, runIds.value, scales.value.get(column.key) ?? null);
}

export const axes = computed<readonly Axis[]>(() =>
  shownColumns.value.filter((column) => column.isNumeric || numWords(column) <= MAX_WORDS).map(axisFor),
);

/** The runs that the filter and all brushes let through, sorted. */
export const keptRuns = computed<readonly RunListing[]>(() => {
  const test = filterOf(filterText.value, columns.value);
  const kept = allRuns.value.filter(({ id, name }) => test(id, name) && passes(axes.value, brushes.value, id));
  return sortRows(kept, columns.value, order.value);
});

export const keptIds = computed<ReadonlySet<string>>(() => new Set(keptRuns.value.map(({ id }) => id)));

const COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)(.+)$/;

type Test = (runId: string, runName: string) => boolean;

/** Which runs a text lets through: words of their names and values, and comparisons such as `lr<0.01`. */
export function filterOf(text: string, columns: readonly Column[]): Test {
  const terms = text.split(/\s+/).filter((term) => term !== "");
  const tests = terms.map((term) => termTest(term, columns));
  return (runId, runName) => tests.every((test) => test(runId, runName));
}

function termTest(term: string, columns: readonly Column[]): Test {
  const [, name = "", sign = "", wanted = ""] = COMPARISON.exec(term) ?? [];
  const column = columns.find((one) => one.name === name);
  if (column === undefined) return wordTest(term.toLowerCase(), columns);
  return (runId) => {
    const value = column.values.get(runId) ?? null;
    if (typeof value === "number") return COMPARISONS[sign]!(value, Number(wanted));
    const isEqual = value !== null && String(value).toLowerCase() === wanted.toLowerCase();
    return sign === "=" ? isEqual : sign === "!=" && !isEqual;
  };
}

function wordTest(word: string, columns: readonly Column[]): Test {
  return (runId, runName) =>
    [runName, ...columns.map(({ values }) => values.get(runId))].some(
      (text) => typeof text === "string" && text.toLowerCase().includes(word),
    );
}

// --- The order of rows and of axes.

export function sortRows<Row extends { readonly id: string; readonly name: string }>(
  rows: readonly Row[],
  columns: readonly Column[],
  { column: key, isDown }: Order,
): Row[] {
  const column = columns.find((one) => one.key === key);
  return sortedBy(rows, (row) => (column === undefined ? row.name : (column.values.get(row.id) ?? null)), isDown);
}

/** First those that were named, in their order, then the rest as they come. */
export function arranged(columns: readonly Column[], order: readonly string[]): Column[] {
  const named = order.flatMap((key) => columns.find((column) => column.key === key) ?? []);
  return [...named, ...columns.filter((column) => !named.includes(column))];
}

/** The keys with one of them moved to another place. */
export function movedTo(keys: readonly string[], key: string, to: number): string[] {
  return keys.filter((one) => one !== key).toSpliced(Math.max(0, to), 0, key);
}

/** Without a choice: the colours of the runs, or those of the first metric where runs would share them. */
const shownColour = computed<string>(() => {
  if (colourKey.value !== "") return colourKey.value;
  const metric = shownColumns.value.find(({ family, isNumeric }) => family === "metric" && isNumeric);
  return allRuns.value.length > NUM_COLOURS && metric !== undefined ? metric.key : BY_RUN;
});

/** What the colours mean; null for those of the runs. */
export const colourAxis = computed<Axis | null>(() => {
  const column = columns.value.find(({ key }) => key === shownColour.value);
  return column === undefined ? null : axisFor(column);
});

/** As CSS has it; a run without a value has that of captions. */
export function lineColour(runId: string): string {
  const axis = colourAxis.value;
  if (axis === null) return `var(--cat-${colourSlot(runId)})`;
  const place = axis.place(axis.column.values.get(runId));
  return place === null ? "var(--text-3)" : colourAt(place);
}

/** Of the theme that is on now. */
const ramp = computed(() => ({ tick: themeTick.value, bytes: readPalette("seq").ramp }));

/** The quiet end of the map would not be seen as a thin line. */
const FIRST_SHARE = 0.25;

/** Of the part of the map that is used, from the lowest to the highest. */
export function colourAt(share: number): string {
  const at = Math.round((FIRST_SHARE + (1 - FIRST_SHARE) * share) * 255) * 4;
  const { bytes } = ramp.value;
  return `rgb(${bytes[at]} ${bytes[at + 1]} ${bytes[at + 2]})`;
}

/** From one end to the other, in the unit of the axis, so that it holds also when the axis grows. */
export interface Brush {
  readonly low: number;
  readonly high: number;
}

type Brushes = ReadonlyMap<string, Brush>;

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
  const short = (unit: number): string => String(Number(unit.toPrecision(6)));
  return [...brushes].map(([key, { low, high }]) => `${escaped(key)}~${short(low)}~${short(high)}`).join(",");
}
