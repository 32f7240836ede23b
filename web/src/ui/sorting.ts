/** The order of rows by a column: as it stands in the address, and what comes first. */
import { computed } from "@preact/signals";
import { param, setParams } from "../data/route";

export interface Order {
  readonly column: string;
  readonly isDown: boolean;
}

/** `-m:accuracy` is downwards. */
export function readOrder(text: string): Order {
  return text.startsWith("-") ? { column: text.slice(1), isDown: true } : { column: text, isDown: false };
}

export function orderText({ column, isDown }: Order): string {
  return `${isDown ? "-" : ""}${column}`;
}

/** What a press on a head asks for: names from A, numbers from the largest; pressed again, the other way. */
export function nextOrder(now: Order | null, column: string, isWords: boolean): Order {
  return { column, isDown: now?.column === column ? !now.isDown : !isWords };
}

/** The order of a table that its address names by `sort`, and what a press on a head does; `usual` is not written. */
export function orderInAddress(usual: string, isWords: (column: string) => boolean, isKnown = (_column: string): boolean => true) {
  const order = computed<Order>(() => {
    const named = readOrder(param("sort") || usual);
    return isKnown(named.column) ? named : readOrder(usual);
  });
  const press = (column: string): void => {
    const text = orderText(nextOrder(order.peek(), column, isWords(column)));
    setParams({ sort: text === usual ? null : text });
  };
  return { order, press };
}

export const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

type Key = string | number | boolean | null;

/** Rows without a value stand last, whichever way; equals stay as they were. */
export function sortedBy<Row>(rows: readonly Row[], keyOf: (row: Row) => Key, isDown: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    const isText = typeof a !== "number" || typeof b !== "number";
    // Not the difference: of two infinities it is no number.
    const order = isText ? byName.compare(String(a), String(b)) : Number(a > b) - Number(a < b);
    return isDown ? -order : order;
  });
  return keyed.map(({ row }) => row);
}
