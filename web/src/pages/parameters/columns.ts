/** Hyperparameters and metrics of the runs as columns. */
import { isOfWatcher } from "../../ui/run-states";
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
export function columnsOf(
  rows: readonly HparamsRow[],
  runs: ReadonlyMap<string, RunListing>,
): readonly Column[] {
  const found = new Map<
    string,
    { name: string; family: Family; isLogged: boolean; values: Map<string, Value> }
  >();
  const put = (family: Family, name: string, runId: string, value: Value, isLogged: boolean): void => {
    const key = `${family === "hparam" ? "h" : "m"}:${name}`;
    let column = found.get(key);
    if (column === undefined) found.set(key, (column = { name, family, isLogged, values: new Map() }));
    if (!column.values.has(runId)) column.values.set(runId, value);
  };
  for (const { run_id, hparams } of rows) {
    for (const [name, value] of Object.entries(hparams)) put("hparam", name, run_id, value, true);
  }
  for (const { run_id, metrics } of rows) {
    for (const [name, value] of Object.entries(metrics)) put("metric", name, run_id, value, true);
  }
  for (const { run_id } of rows) {
    for (const { name, value } of runs.get(run_id)?.metrics ?? []) put("metric", name, run_id, value, false);
  }
  return [...found].map(([key, column]) => ({ key, ...column, isNumeric: isNumeric(column.values) }));
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
export function differs(column: Column, runIds: readonly string[]): boolean {
  const [first, ...rest] = runIds;
  if (first === undefined) return false;
  return rest.some((id) => !isSame(column.values.get(id), column.values.get(first)));
}

function isSame(a: Value | undefined, b: Value | undefined): boolean {
  return a === b;
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
