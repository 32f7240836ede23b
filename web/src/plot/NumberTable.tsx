/** Numbers in rows that have a name: what a picture shows, to be read. */
import type { ComponentChildren } from "preact";
import { formatCount } from "../data/format";
import "./matrix.css";

interface Props {
  label: string;
  /** Of the names, then of the numbers. */
  head: readonly string[];
  rows: readonly (readonly [name: ComponentChildren, ...numbers: ComponentChildren[]])[];
  /** How many of what there are that have no row: they are said below. */
  left?: readonly [count: number, what: string];
  /** As small as what stands in a section of charts. */
  isSmall?: boolean;
}

export function NumberTable({ label, head, rows, left: [numLeft, what] = [0, ""], isSmall = false }: Props) {
  return (
    <div class={isSmall ? "sec-scroll" : "an-table"} role="region" aria-label={label} tabIndex={0}>
      <table class={isSmall ? "sec-table" : "table"}>
        <thead>
          <tr>
            {head.map((title, at) => (
              <th key={at} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...numbers], row) => (
            <tr key={row}>
              <th scope="row">{name}</th>
              {numbers.map((number, column) => (
                <td key={column}>{number}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {numLeft > 0 && (
        <p class="muted fs-1">
          {formatCount(numLeft)} more {what} are not in the table.
        </p>
      )}
    </div>
  );
}
