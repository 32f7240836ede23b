/** The order of rows and of axes. */
import type { Column, Value } from "./columns";

export interface Order {
  /** Of a column; `run` for the name of the run. */
  readonly key: string;
  readonly isDown: boolean;
}

const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** `-m:accuracy` is downwards. */
export function readOrder(text: string): Order {
  return text.startsWith("-")
    ? { key: text.slice(1), isDown: true }
    : { key: text === "" ? "run" : text, isDown: false };
}

export function writeOrder({ key, isDown }: Order): string | null {
  return key === "run" && !isDown ? null : `${isDown ? "-" : ""}${key}`;
}

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** Runs without a value stand last, whichever way; equals stay as they were. */
export function sortRows<Row extends Named>(
  rows: readonly Row[],
  columns: readonly Column[],
  { key, isDown }: Order,
): Row[] {
  const column = columns.find((one) => one.key === key);
  const valueOf = (row: Row): Value =>
    column === undefined ? row.name : (column.values.get(row.id) ?? null);
  return [...rows].sort((a, b) => compare(valueOf(a), valueOf(b), isDown));
}

function compare(a: Value, b: Value, isDown: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "number" && typeof b === "number" ? a - b : byName.compare(String(a), String(b));
  return isDown ? -order : order;
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
