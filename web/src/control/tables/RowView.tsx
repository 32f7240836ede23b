/** One row of a table. */
import { formatExact } from "../../format";
import * as net from "../../netview/store";
import type { Scale } from "../../tensor/colour";
import type { Grid } from "../../wire";
import { ANSWER, type ShownColumn } from "./columns";
import { gridFor } from "./cellpicture";
import { cellOf, columnOf, isUntested, numberIn, type Row } from "./tabledata";
import { TensorCell } from "./TensorCell";
import type { Cells } from "./useCells";

interface Looks {
  row: Row;
  cells: Cells;
  /** Of pictures, by the name of the tensors. */
  scales: ReadonlyMap<string, Scale | null>;
  isWrong: boolean;
}

interface Props extends Looks {
  id: string;
  /** Among all rows. */
  index: number;
  columns: readonly ShownColumn[];
  isActive: boolean;
  /** Was it written last? */
  isCurrent: boolean;
  isPicked: boolean;
  /** What pressing it does; empty where that is nothing. */
  hint: string;
  onPress: (() => void) | null;
}

export function RowView({ id, index, columns, isActive, isCurrent, isPicked, hint, onPress, ...looks }: Props) {
  const style = [isActive && "active", looks.isWrong && "wrong", onPress !== null && "pickable"].filter(Boolean).join(" ");
  return (
    <tr
      id={id}
      class={style}
      aria-rowindex={index + 2}
      aria-selected={onPress === null ? undefined : isPicked}
      aria-current={isCurrent ? "true" : undefined}
      title={hint === "" ? undefined : hint}
      onClick={onPress ?? undefined}
    >
      {columns.map((column) => (
        <CellView key={column.key} column={column} {...looks} />
      ))}
    </tr>
  );
}

function CellView({ column, ...looks }: Looks & { column: ShownColumn }) {
  const { key, form, format } = column;
  const { row, isWrong } = looks;
  if (form === "tensor") return <PictureCell column={column} {...looks} />;
  const cell = isUntested(row, key) ? null : cellOf(row, key);
  const value = form === "text" ? null : numberIn(cell);
  const isBad = isBadCell(key, value, isWrong);
  if (value === null) return <td class={isBad ? "text bad" : "text"}>{cell}</td>;
  if (form === "error") return <td class={isWrong ? "num bad" : "num muted"}>{isWrong ? "wrong" : "right"}</td>;
  return (
    <td class={isBad ? "num bad" : "num"} title={formatExact(value, "f8")}>
      {format(value)}
    </td>
  );
}

/** Of a wrong row the answer is what is wrong. */
function isBadCell(key: string, value: number | null, isWrong: boolean): boolean {
  return (isWrong && key === ANSWER) || (value !== null && !Number.isFinite(value));
}

const ROOM = { width: 96, height: 28 };
const ROOM_OF_TWO = { width: 96, height: 13 };
const LOW = 3;
/** Where no value is a number, there are no limits between which to colour. */
const NO_SCALE: Scale = { map: "seq", low: 0, high: 1 };

/** What is compared is drawn alike: on the grid of the first. */
function gridIn(name: string, shape: readonly number[]): Grid {
  return gridFor(name, shape, net.scene.value);
}

/** Those of few rows stand over each other, others beside each other. */
function isLow({ rows, tiles_down: down }: Grid): boolean {
  return rows * down <= LOW;
}

/** Null where the column has no tensors. */
export function gridOfCell(row: Row, { form, names }: ShownColumn): Grid | null {
  const shape = form === "tensor" ? columnOf(row, names[0]!)?.shape : undefined;
  return shape === undefined ? null : gridIn(names[0]!, shape);
}

function isStrip(column: ShownColumn, row: Row): boolean {
  const grid = gridOfCell(row, column);
  return grid !== null && isLow(grid);
}

function PictureCell({ column, ...looks }: Looks & { column: ShownColumn }) {
  const isBeside = column.names.length > 1 && !isStrip(column, looks.row);
  return (
    <td class="text picture-cell">
      <div class={isBeside ? "beside" : undefined}>
        {column.names.map((name) => (
          <Picture key={name} name={name} column={column} {...looks} />
        ))}
      </div>
    </td>
  );
}

function Picture({ name, column: { names }, row, cells, scales }: Looks & { name: string; column: ShownColumn }) {
  const shape = columnOf(row, name)?.shape;
  if (shape === undefined) return null;
  const found = cells.at(row, name);
  const full = `${name} of trial ${numberIn(cellOf(row, "trial")) ?? row.at}`;
  if (found === null) return <span class="cell-waiting" role="img" aria-label={`${full}: loading`} />;
  if (found.refusal !== "") {
    return (
      <span class="muted" title={found.refusal}>
        not readable
      </span>
    );
  }
  const grid = gridIn(names[0]!, shape);
  const room = names.length > 1 && isLow(grid) ? ROOM_OF_TWO : ROOM;
  return <TensorCell name={full} values={found.values} grid={grid} scale={scales.get(name) ?? NO_SCALE} room={room} />;
}
