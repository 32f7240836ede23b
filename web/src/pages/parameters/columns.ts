/** Hyperparameters and metrics of the runs as columns, and the axis of a column. */
import { obtain } from "../../data/collections";
import * as scales from "../../plot/scale";
import type { Tick } from "../../plot/ticks";
import { isOfWatcher } from "../../ui/run-states";
import { byName } from "../../ui/sorting";
import type { HparamsRow, RunListing } from "../../wire";

export type Value = number | boolean | string | null;
export type Family = "hparam" | "metric";

export interface Column {
  /** `h:` or `m:` and the name: the two may share names. */
  readonly key: string;
  readonly name: string;
  readonly family: Family;
  /** Are all of its values numbers? Otherwise each is a word. */
  readonly isNumeric: boolean;
  /** By run; a run that has none is not there. Null: not a finite number, or nothing. */
  readonly values: ReadonlyMap<string, Value>;
  /** Was it logged with the hyperparameters, or is it only the last value of a scalar? */
  readonly isLogged: boolean;
}

/** All columns, in the order in which the runs name them: hyperparameters, then metrics. */
export function columnsOf(rows: readonly HparamsRow[], runs: ReadonlyMap<string, RunListing>): readonly Column[] {
  const found = new Map<string, Omit<Column, "isNumeric"> & { values: Map<string, Value> }>();
  const put = (family: Family, isLogged: boolean, runId: string, values: Iterable<readonly [string, Value]>): void => {
    for (const [name, value] of values) {
      const key = `${family === "hparam" ? "h" : "m"}:${name}`;
      const column = obtain(found, key, () => ({ key, name, family, isLogged, values: new Map() }));
      if (!column.values.has(runId)) column.values.set(runId, value);
    }
  };
  for (const { run_id, hparams } of rows) put("hparam", true, run_id, Object.entries(hparams));
  for (const { run_id, metrics } of rows) put("metric", true, run_id, Object.entries(metrics));
  for (const { run_id } of rows) {
    const last = runs.get(run_id)?.metrics ?? [];
    put("metric", false, run_id, last.map(({ name, value }) => [name, value]));
  }
  return [...found.values()].map((column) => ({ ...column, isNumeric: isNumeric(column.values) }));
}

function isNumeric(values: ReadonlyMap<string, Value>): boolean {
  let hasNumber = false;
  for (const value of values.values()) {
    if (value !== null && typeof value !== "number") return false;
    hasNumber ||= value !== null;
  }
  return hasNumber;
}

/** Is there more than one value among these runs? A run without one counts as a value of its own. */
export function differs({ values }: Column, runIds: readonly string[]): boolean {
  return new Set(runIds.map((id) => values.get(id))).size > 1;
}

const MAX_UNLOGGED = 4;

/** The columns that are shown where nobody chose: what was logged, or else a few of the last values. */
export function firstShown(columns: readonly Column[]): ReadonlySet<string> {
  const metrics = columns.filter(({ family }) => family === "metric");
  const logged = metrics.filter(({ isLogged }) => isLogged);
  const likely = metrics.filter(({ name }) => !isOfWatcher(name));
  const shown = logged.length > 0 ? logged : likely.slice(0, MAX_UNLOGGED);
  return new Set([...columns.filter(({ family }) => family === "hparam"), ...shown].map(({ key }) => key));
}

// --- The axis of a column: where a value stands on it, and what stands at a place.

export interface Axis {
  readonly column: Column;
  readonly scale: "linear" | "log" | "words";
  readonly canBeLog: boolean;
  /** At places from 0 at the bottom to 1 at the top. */
  readonly ticks: readonly Tick[];
  /** From 0 to 1; null for what is not known. */
  place(value: Value | undefined): number | null;
  /** What a place means: the number there; on an axis of words the place itself. */
  unitAt(place: number): number;
  placeOfUnit(unit: number): number;
}

/** Values that spread over so many times the least of them are better seen on a logarithmic axis. */
const LOG_FROM = { hparam: 8, metric: 50 };

export function axisOf(column: Column, runIds: readonly string[], wantsLog: boolean | null): Axis {
  const values = runIds
    .map((id) => column.values.get(id))
    .filter((value) => value !== undefined && value !== null);
  if (!column.isNumeric) return wordAxis(column, values);
  const span = scales.extentOf([values.filter((value) => typeof value === "number")]) ?? { low: 0, high: 0 };
  const canBeLog = span.low > 0;
  const isLog = canBeLog && (wantsLog ?? span.high / span.low >= LOG_FROM[column.family]);
  const scale = { ...span, isLog };
  const place = (value: Value | undefined): number | null => {
    const share = typeof value === "number" ? scales.shareOf(scale, value) : NaN;
    return Number.isFinite(share) ? share : null;
  };
  return {
    column,
    scale: isLog ? "log" : "linear",
    canBeLog,
    ticks: scales.axisOf(scale).ticks.map(({ value, label }) => ({ value: place(value) ?? 0, label })),
    place,
    unitAt: (at) => scales.valueAtShare(scale, at),
    placeOfUnit: (unit) => place(unit) ?? -1,
  };
}

function wordAxis(column: Column, values: readonly Value[]): Axis {
  const words = [...new Set(values.map(String))].sort(byName.compare);
  const placeOf = new Map(
    words.map((word, at) => [word, words.length === 1 ? 0.5 : 1 - at / (words.length - 1)]),
  );
  const every = Math.max(1, Math.ceil(words.length / 16));
  return {
    column,
    scale: "words",
    canBeLog: false,
    ticks: words.filter((_, at) => at % every === 0).map((label) => ({ value: placeOf.get(label)!, label })),
    place: (value) => (value === undefined || value === null ? null : (placeOf.get(String(value)) ?? null)),
    unitAt: (place) => place,
    placeOfUnit: (unit) => unit,
  };
}

/** The text of a tick, of so many characters at most. */
export function clipped(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
