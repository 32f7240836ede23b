/** A small matrix as a table of coloured cells, with numbers where they have room; a cell may be a button. */
import type { ComponentChildren } from "preact";
import { type Scale, stepClass } from "../ui/colour-scale";
import "./matrix.css";

interface Cell {
  readonly look: string;
  readonly title: string;
  readonly text: string;
}

interface Props {
  label: string;
  rows: readonly string[];
  /** What else is to be said of a row: when its name is pointed at. */
  titleOf?: (row: number) => string;
  isOn?: (at: number) => boolean;
  /** Names above the columns: none, upright ones, or flat ones. */
  head?: "upright" | "across";
  hasNumbers: boolean;
  cell: (row: number, column: number) => Cell;
  onChoose?: (row: number, column: number) => void;
  onPoint?: (at: readonly [row: number, column: number] | null) => void;
  /** What stands after the cells of a row. */
  after?: (row: number) => ComponentChildren;
  look?: string;
}

export function CellTable({ label, rows, titleOf = (row) => rows[row]!, isOn, head, hasNumbers, cell, onChoose, onPoint, after, look = "" }: Props) {
  const on = (at: number): string => (isOn?.(at) === true ? "on" : "");
  return (
    <table class={`an-cells ${hasNumbers ? "numbers" : ""} ${look}`} aria-label={label} onPointerLeave={() => onPoint?.(null)}>
      {head !== undefined && (
        <thead>
          <tr>
            <td />
            {rows.map((name, at) => (
              <th key={at} scope="col" title={name} class={`ft-${head} ${on(at)}`}>
                <span>
                  <bdi>{head === "upright" || hasNumbers ? name : ""}</bdi>
                </span>
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((name, row) => (
          <tr key={row}>
            <th scope="row" title={titleOf(row)} class={on(row)}>
              <span>
                <bdi>{name}</bdi>
              </span>
            </th>
            {rows.map((_, column) => {
              const { look: its, title, text } = cell(row, column);
              const shown = hasNumbers ? text : "";
              return (
                <td key={column} class={its} title={title} onPointerEnter={() => onPoint?.([row, column])}>
                  {onChoose === undefined ? (
                    shown
                  ) : (
                    <button aria-label={title} tabIndex={column === 0 ? 0 : -1} onKeyDown={moveFocus} onClick={() => onChoose(row, column)}>
                      {shown}
                    </button>
                  )}
                </td>
              );
            })}
            {after?.(row)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const cell = (event.currentTarget as HTMLElement).closest("td");
  const row = cell?.closest("tr");
  if (by === undefined || cell == null || row == null) return;
  event.preventDefault();
  event.stopPropagation();
  const next = row.closest("table")!.rows[row.rowIndex + by[0]!]?.cells[cell.cellIndex + by[1]!];
  next?.querySelector("button")?.focus();
}

/** All alike, so that they line up: 0.95, 1.00. */
export function hundredths(value: number): string {
  return value.toFixed(2).replace(/^-(?!0\.00$)/, "\u2212").replace("-", "");
}

/** A number between two layers, of which some are not defined. */
export function likenessCell(names: readonly string[], values: Float32Array, scale: Scale): Props["cell"] {
  return (row, column) => {
    const value = values[row * names.length + column]!;
    const isNone = Number.isNaN(value);
    const text = isNone ? "not defined" : hundredths(value);
    return {
      look: isNone ? "none" : `cell ${stepClass(scale, value)}`,
      title: `${names[row]} and ${names[column]}: ${text}`,
      text: isNone ? "" : text,
    };
  };
}
