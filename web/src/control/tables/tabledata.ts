/** The rows of a table over some runs, as the page knows them. */
import type { TableAnswer, TableColumn, TableRows } from "../../wire";

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

/** With what an answer brought, in the order of the runs. `isOnlyLast`: of each run only what came last. */
export function withAnswer(
  before: TableData,
  answer: Pick<TableAnswer, "is_all" | "parts">,
  runIds: readonly string[],
  isOnlyLast: boolean,
): TableData {
  const known = answer.is_all ? [] : before.parts;
  const places = new Map(runIds.map((id, at) => [id, at]));
  const parts = [...known, ...answer.parts].filter(({ run_id }) => places.has(run_id));
  parts.sort((one, other) => places.get(one.run_id)! - places.get(other.run_id)!);
  return tableOf(isOnlyLast ? lastOfEach(parts) : parts);
}

function lastOfEach(parts: readonly TableRows[]): TableRows[] {
  return [...new Map(parts.map((part) => [part.run_id, part])).values()];
}

export function tableOf(parts: readonly TableRows[]): TableData {
  const columns = new Map<string, Column>();
  for (const part of parts) for (const column of part.columns) columns.set(column.name, column);
  const rows = parts.flatMap((part) => part.rows.map((_, at): Row => ({ part, at })));
  return { parts, rows, columns: [...columns.values()] };
}

const placesOf = new WeakMap<TableRows["columns"], ReadonlyMap<string, number>>();

/** Null where the row has no such cell, and where it is a tensor. */
export function cellOf({ part, at }: Row, name: string): Cell {
  let places = placesOf.get(part.columns);
  if (places === undefined) {
    places = new Map(part.columns.map((column, place) => [column.name, place]));
    placesOf.set(part.columns, places);
  }
  const place = places.get(name);
  return place === undefined ? null : (part.rows[at]?.[place] ?? null);
}

/** The column as this row has it. */
export function columnOf({ part }: Row, name: string): Column | null {
  return part.columns.find((column) => column.name === name) ?? null;
}

const SPECIAL: Readonly<Record<string, number>> = { NaN: Number.NaN, inf: Infinity, "-inf": -Infinity };

/** A cell as a number; null where it is none. */
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
