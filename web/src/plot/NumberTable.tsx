/** Numbers in rows: what a picture shows, to be read. */
import type { ComponentChildren } from "preact";
import { formatCount } from "../data/format";
import "./matrix.css";

interface TwinProps {
  label?: string;
  /** Each with what it means, where that is not enough. */
  heads: readonly (string | readonly [word: string, meaning: string])[];
  rows: readonly (readonly ComponentChildren[])[];
  /** Begins each row with its name? */
  isNamed?: boolean;
  /** The row that is shown in the chart. */
  at?: number;
  class?: string;
}

export function TableTwin({ label, heads, rows, isNamed = false, at = -1, class: style = "table twin" }: TwinProps) {
  return (
    <table class={style} aria-label={label}>
      <thead>
        <tr>
          {heads.map((head, nth) => (
            <th key={nth} scope="col" title={typeof head === "string" ? undefined : head[1]}>
              {typeof head === "string" ? head : head[0]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first, ...numbers], nth) => (
          <tr key={nth} aria-selected={at < 0 ? undefined : nth === at}>
            {isNamed ? <th scope="row">{first}</th> : <td>{first}</td>}
            {numbers.map((number, column) => (
              <td key={column}>{number}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Props {
  label: string;
  /** Of the names, then of the numbers. */
  head: readonly string[];
  rows: TwinProps["rows"];
  /** How many of what there are that have no row: they are said below. */
  left?: readonly [count: number, what: string];
  /** As small as what stands in a section of charts. */
  isSmall?: boolean;
}

export function NumberTable({ label, head, rows, left: [numLeft, what] = [0, ""], isSmall = false }: Props) {
  return (
    <div class={isSmall ? "sec-scroll" : "an-table"} role="region" aria-label={label} tabIndex={0}>
      <TableTwin heads={head} rows={rows} isNamed class={isSmall ? "sec-table" : "table"} />
      {numLeft > 0 && (
        <p class="muted fs-1">
          {formatCount(numLeft)} more {what} are not in the table.
        </p>
      )}
    </div>
  );
}
