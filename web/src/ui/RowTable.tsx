/** A table of many rows of one height, of which only those in view are in the page; its keys lead from row to row. */
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { actOn } from "./keys";
import { useRowsInView } from "./scroll";

export interface Column<Row> {
  readonly title: string;
  /** The class of its cells, where they are not numbers. */
  readonly look?: string;
  readonly text: (row: Row) => ComponentChildren;
  readonly hint?: (row: Row) => string;
  /** It names the row. */
  readonly isHead?: boolean;
}

interface Props<Row> {
  label: string;
  look: string;
  role?: "grid";
  rows: ArrayLike<Row>;
  rowHeight: number;
  headHeight: number;
  columns: readonly Column<Row>[];
  /** What else a row has. */
  rowProps: (row: Row, at: number) => JSX.IntrinsicElements["tr"];
  /** The row that the keys start from, and where they lead; `keys` are others. */
  active: number;
  goTo: (row: number) => void;
  keys: Readonly<Record<string, () => void>>;
}

export function RowTable<Row>({ label, look, role, rows, rowHeight, headHeight, columns, rowProps, active, goTo, keys }: Props<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const { first, end, reveal } = useRowsInView(box, rows.length, rowHeight, headHeight);
  const by = (count: number) => (): void => {
    if (rows.length === 0) return;
    const next = Math.max(0, Math.min(rows.length - 1, active + count));
    goTo(next);
    reveal(next);
  };
  const moves = { ArrowDown: by(1), ArrowUp: by(-1), PageDown: by(20), PageUp: by(-20), Home: by(-Infinity), End: by(Infinity) };
  return (
    <div class="panel-body" ref={box}>
      <table
        class={`table row-table ${look}`}
        role={role}
        aria-label={label}
        aria-rowcount={rows.length + 1}
        tabIndex={0}
        onKeyDown={(event) => actOn(event, { ...moves, ...keys })}
      >
        <thead>
          <tr>
            {columns.map(({ title, look: style = "num" }, at) => (
              <th key={at} scope="col" class={style}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr class="gap" style={{ height: `${first * rowHeight}px` }} aria-hidden="true" />
          {Array.from({ length: end - first }, (_, nth) => {
            const row = rows[first + nth]!;
            return (
              <tr key={first + nth} aria-rowindex={first + nth + 2} {...rowProps(row, first + nth)}>
                {columns.map(({ look: style, text, hint, isHead = false }, at) => {
                  const Cell = isHead ? "th" : "td";
                  return (
                    <Cell key={at} scope={isHead ? "row" : undefined} class={style} title={hint?.(row)}>
                      {text(row)}
                    </Cell>
                  );
                })}
              </tr>
            );
          })}
          <tr class="gap" style={{ height: `${(rows.length - end) * rowHeight}px` }} aria-hidden="true" />
        </tbody>
      </table>
    </div>
  );
}
