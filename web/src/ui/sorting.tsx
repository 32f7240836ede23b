/** Tables that are sorted by a column: the order as it stands in the address, what comes first, the heads to press. */

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
export function nextOrder(now: Order, column: string, isWords: boolean): Order {
  return { column, isDown: now.column === column ? !now.isDown : !isWords };
}

export const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

type Key = string | number | boolean | null;

/** Rows without a value stand last, whichever way; equals stay as they were. */
export function sortedBy<Row>(rows: readonly Row[], keyOf: (row: Row) => Key, isDown: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    const order = typeof a === "number" && typeof b === "number" ? a - b : byName.compare(String(a), String(b));
    return isDown ? -order : order;
  });
  return keyed.map(({ row }) => row);
}

interface HeadProps {
  title: string;
  style: string;
  /** Null where it is sorted by another one. */
  isDown: boolean | null;
  press: () => void;
}

export function SortHead({ title, style, isDown, press }: HeadProps) {
  return (
    <th class={style} scope="col" aria-sort={isDown === null ? undefined : isDown ? "descending" : "ascending"}>
      <button title={`Sort by ${title}`} onClick={press}>
        <span class="clip">{title}</span>
        {isDown !== null && <span aria-hidden="true">{isDown ? "\u2193" : "\u2191"}</span>}
      </button>
    </th>
  );
}
