/** The order of rows: as it is where nobody chose, or by a column. */
import { cellOf, numberIn, type Cell, type Row } from "./tabledata";

export interface Order {
  readonly column: string;
  readonly isDown: boolean;
}

/** Numbers from the largest, texts from A; pressed again, the other way; then as it was. */
export function nextOrder(now: Order | null, column: string, isNumeric: boolean): Order | null {
  if (now?.column !== column) return { column, isDown: isNumeric };
  return now.isDown === isNumeric ? { column, isDown: !isNumeric } : null;
}

const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Rows without a value stand last, whichever way; equals stay in the order in which they are. */
export function inOrder(rows: readonly Row[], order: Order | null): readonly Row[] {
  if (order === null) return rows;
  const keyed = rows.map((row) => ({ row, key: keyOf(cellOf(row, order.column)) }));
  keyed.sort((one, other) => compare(one.key, other.key, order.isDown));
  return keyed.map(({ row }) => row);
}

function keyOf(cell: Cell): Cell {
  const number = numberIn(cell);
  if (number !== null) return Number.isNaN(number) ? null : number;
  return cell === "" ? null : cell;
}

function compare(one: Cell, other: Cell, isDown: boolean): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  const isText = typeof one === "string" || typeof other === "string";
  // Not the difference: of two infinities it is no number.
  const order = isText ? byName.compare(String(one), String(other)) : Number(one > other) - Number(one < other);
  return isDown ? -order : order;
}
