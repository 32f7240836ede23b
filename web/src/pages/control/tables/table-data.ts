/** The rows of a table over some runs, as the page knows them. */
import { obtain } from "../../../data/collections";
import { computed, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { control } from "../../../data/control";
import { follow } from "../../../data/requests";
import * as store from "../../../data/store";
import type { TableAnswer, TableColumn, TableRows } from "../../../wire";

export type Cell = TableRows["rows"][number][number];
export type Column = Pick<TableColumn, "name" | "form" | "shape">;

/** A row: which of those that were logged together. */
export interface Row {
  readonly part: TableRows;
  readonly at: number;
}

/** A table. Rows stand in the order of the runs and, within a run, in that in which they were logged. */
export interface TableData {
  readonly parts: readonly TableRows[];
  readonly rows: readonly Row[];
  /** In the order in which they came, each once, as it was last. */
  readonly columns: readonly Column[];
}

export const NO_ROWS: TableData = { parts: [], rows: [], columns: [] };

/** With what an answer brought, in the order of the runs. */
export function withAnswer(before: TableData, { is_all, parts }: Pick<TableAnswer, "is_all" | "parts">, wish: Omit<TableWish, "name">): TableData {
  const places = new Map(wish.runIds.map((id, at) => [id, at]));
  const known = [...(is_all ? [] : before.parts), ...parts].filter(({ run_id }) => places.has(run_id));
  known.sort((one, other) => places.get(one.run_id)! - places.get(other.run_id)!);
  return tableOf(wish.isOnlyLast ? [...new Map(known.map((part) => [part.run_id, part])).values()] : known);
}

export function tableOf(parts: readonly TableRows[]): TableData {
  const columns = new Map<string, Column>();
  for (const part of parts) for (const column of part.columns) columns.set(column.name, column);
  const rows = parts.flatMap((part) => part.rows.map((_, at): Row => ({ part, at })));
  return { parts, rows, columns: [...columns.values()] };
}

const placesOf = new WeakMap<TableRows["columns"], ReadonlyMap<string, number>>();

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Null where the row has no such cell, and where it is a tensor. */
export function cellOf({ part, at }: Row, name: string): Cell {
  const places = obtain(placesOf, part.columns, () => new Map(part.columns.map((column, place) => [column.name, place])));
  const place = places.get(name);
  return place === undefined ? null : (part.rows[at]?.[place] ?? null);
}

export function columnOf({ part }: Row, name: string): Column | null {
  return part.columns.find((column) => column.name === name) ?? null;
}

const SPECIAL: Readonly<Record<string, number>> = { NaN: Number.NaN, inf: Infinity, "-inf": -Infinity };

export function numberIn(cell: Cell): number | null {
  if (typeof cell === "number") return cell;
  return cell === null ? null : (SPECIAL[cell] ?? null);
}

const TEST = "test ";

/** Is a cell of a test empty, since there was none in this epoch? An empty cell of numbers comes as NaN, and so does a NaN. */
export function isUntested(row: Row, name: string): boolean {
  if (!name.startsWith(TEST)) return false;
  const tests = row.part.columns.filter((column) => column.name.startsWith(TEST));
  return tests.every((column) => Number.isNaN(numberIn(cellOf(row, column.name)) ?? NaN));
}

export function rowKey({ part, at }: Row): string {
  return `${part.run_id} ${part.record} ${at}`;
}

/** Was the answer wrong? Only tables of trials say so. */
export function isWrong(row: Row): boolean {
  return (numberIn(cellOf(row, ERROR)) ?? 0) > 0;
}

export const ERROR = "error";

/** The server answers for no more runs at a time. */
export const MOST_RUNS = 256;

interface Followed {
  readonly data: TableData;
  /** Has the server said what there is? */
  readonly isAnswered: boolean;
  /** What a reader must know: why there is nothing, or that not all is here. */
  readonly note: string;
}

export interface TableWish {
  readonly name: string;
  readonly runIds: readonly string[];
  readonly isOnlyLast: boolean;
}

const NOTHING: Followed = { data: NO_ROWS, isAnswered: false, note: "" };

/** Follow a table over some runs: what is known of it stays until more comes. */
export function useTable(wish: TableWish): Followed {
  const followed = useSignal<Followed>(NOTHING);
  const source = store.source.value;
  const { name, runIds, isOnlyLast } = wish;
  useEffect(() => {
    if (source === null || runIds.length === 0) {
      followed.value = { ...NOTHING, isAnswered: true };
      return undefined;
    }
    return follow(
      source,
      { type: "table", run_ids: [...runIds], name, only_last: isOnlyLast },
      ({ answer }) => {
        // What was known of the same runs stays until the first answer voids it.
        const data = withAnswer(followed.peek().data, answer, wish);
        followed.value = { data, isAnswered: true, note: answer.note };
      },
      (note) => (followed.value = { ...followed.peek(), isAnswered: true, note }),
    );
  }, [source, name, runIds.join(), isOnlyLast]);
  return followed.value;
}

// --- Which tables there are, and over which runs each of them goes.

export const TRAIN_EPOCHS = "train epochs";
export const TEST_TRIALS = "test trials";
export const TEST_EPOCHS = "test epochs";
export const TEST_ITEMS = "test items";
export const RUNS = "runs";

const USUAL = [TRAIN_EPOCHS, TEST_TRIALS, TEST_EPOCHS, RUNS];

const NONE: readonly string[] = [];
export const currentRun = computed(() => control.value?.run_id ?? "");
const runIds = computed(() => control.value?.run_ids ?? NONE);
const allRunIds = computed(() => control.value?.all_run_ids ?? NONE);

/**
 * Epochs are those of all runs since Init, and runs those of every Init. Of a test its rows are what the last one of
 * a run brought: that of the run before stays until the next has been tested.
 */
export function wishFor(name: string): TableWish {
  if (name === TEST_TRIALS) return { name, runIds: runIds.value.slice(-2), isOnlyLast: true };
  const ids = name === RUNS ? allRunIds.value : runIds.value;
  return { name, runIds: ids.slice(-MOST_RUNS), isOnlyLast: false };
}

/** `train epochs` → `Train epochs`. */
export function tableTitle(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** What else somebody has logged into tables of the run. */
export function useOtherTables(): readonly string[] {
  const names = useSignal<readonly string[]>(NONE);
  const [source, id] = [store.source.value, currentRun.value];
  useEffect(() => {
    if (source === null || id === "") return undefined;
    return follow(source, { type: "index", run_ids: [id] }, ({ answer }) => {
      const tables = answer.runs.flatMap((run) => run.series).filter(({ kind }) => kind === "table");
      const all = new Set([...names.peek(), ...tables.map(({ name }) => name).filter((name) => !USUAL.includes(name))]);
      if (all.size > names.peek().length) names.value = [...all];
    });
  }, [source, id]);
  return names.value;
}

/** Also of a table that is on its way: it opens when it is there. */
export const chosenTable = signal(TRAIN_EPOCHS);

export const newTable = signal("");

export function chooseTable(name: string): void {
  chosenTable.value = name;
  if (newTable.peek() === name) newTable.value = "";
}

/** Something was added to a table while somebody works in another: they stay there. */
export function announceTable(name: string): void {
  if (chosenTable.peek() !== name) newTable.value = name;
}
