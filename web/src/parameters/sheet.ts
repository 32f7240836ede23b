/** Everything that the views of parameters show: rows, columns, axes, colours; put together from data and choices. */
import { computed, signal } from "@preact/signals";
import { NUM_COLOURS } from "../runs/colours";
import { chosen, colourSlot, runsById } from "../runs/store";
import { readInk } from "../sections/drawn";
import { themeTick } from "../store";
import type { HparamsRow, RunListing } from "../wire";
import { type Axis, axisOf } from "./axes";
import { passes } from "./brushing";
import { type Colouring, runColouring, valueColouring } from "./colouring";
import { type Column, columnsOf, differs, firstShown, type Value } from "./columns";
import { arranged, sortRows } from "./ordering";
import * as state from "./state";

/** The choice of the runs' own colours, where a column would be named. */
export const BY_RUN = "run";

/** What the server said last. */
export const answered = signal<readonly HparamsRow[]>([]);

const rows = computed<readonly HparamsRow[]>(() => {
  const known = answered.value.filter(({ run_id }) => runsById.value.has(run_id));
  if (!state.isChosenOnly.value) return known;
  const ids = new Set(chosen.value.map(({ id }) => id));
  return known.filter(({ run_id }) => ids.has(run_id));
});

export const columns = computed(() => columnsOf(rows.value, runsById.value));
const runIds = computed(() => rows.value.map(({ run_id }) => run_id));

/** The columns that are shown by themselves. */
export const byItself = computed<ReadonlySet<string>>(() => {
  const first = firstShown(columns.value);
  if (!state.hidesSame.value) return first;
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
    state.axesInOrder(),
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
  return axis === null ? runColouring(colourSlot) : valueColouring(axis, rampStops.value);
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
