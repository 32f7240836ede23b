/** One row of a table. */
import { computed } from "@preact/signals";
import { formatExact, formatNumberOf, formatValue } from "../../../data/format";
import * as net from "../../../data/network/store";
import { themeTick } from "../../../data/store";
import { paintUnits } from "../../../stage3d/network/item-pictures";
import { plateSize } from "../../../stage3d/network/plates";
import { PixelCanvas } from "../../../ui/PixelCanvas";
import { readPalette, type Scale } from "../../../ui/colour-scale";
import type { Grid, NetLayer, NetScene } from "../../../wire";
import type { Cells } from "./cells";
import { ANSWER, type ShownColumn } from "./columns";
import { cellOf, isUntested, numberIn, type Row } from "./table-data";

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

/** Those of few rows stand over each other, others beside each other. */
function isLow({ rows, tiles_down: down }: Grid): boolean {
  return rows * down <= LOW;
}

/** Null where the column has no tensors. */
export function gridOfCell(row: Row, { form, names }: ShownColumn): Grid | null {
  const own = form === "tensor" ? row.part.grids[names[0]!] : undefined;
  return own === undefined ? null : gridFor(names[0]!, own, net.scene.value);
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
  const own = row.part.grids[name];
  if (own === undefined) return null;
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
  // What is compared is drawn alike: on the grid of the first.
  const grid = gridFor(names[0]!, own, net.scene.value);
  const room = names.length > 1 && isLow(grid) ? ROOM_OF_TWO : ROOM;
  return <TensorCell name={full} values={found.values} grid={grid} scale={scales.get(name) ?? NO_SCALE} room={room} />;
}

// --- A tensor in the cell of a table, as a little picture.

/** Read anew whenever the theme changes, not for every cell. */
const palettes = computed(() => ({ tick: themeTick.value, div: readPalette("div"), seq: readPalette("seq") }));

interface TensorCellProps {
  /** Of what it is: `Input of trial 4`. */
  name: string;
  values: Float32Array;
  grid: Grid;
  scale: Scale;
  room: { readonly width: number; readonly height: number };
}

function TensorCell({ name, values, grid, scale, room }: TensorCellProps) {
  const palette = palettes.value[scale.map];
  return (
    <PixelCanvas
      style="cell-picture"
      size={shownSize(grid, room)}
      paint={() => paintUnits((unit) => values[unit] ?? NaN, grid, scale, palette, MOST_PIXELS)}
      depends={[values, grid, scale.map, scale.low, scale.high, palette]}
      label={`${name}: ${summaryOf(values)}`}
    />
  );
}

/** In one sentence, for those who do not see it. */
function summaryOf(values: Float32Array): string {
  let [low, high, numBad] = [Infinity, -Infinity, 0];
  for (const value of values) {
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    else numBad += 1;
  }
  const bad = numBad > 0 ? `, ${formatNumberOf(numBad, "is", "are")} NaN or infinite` : "";
  const count = formatNumberOf(values.length, "value");
  if (low > high) return `${count}${bad}`;
  return `${count}${low === high ? `, all ${formatValue(low)}` : ` from ${formatValue(low)} to ${formatValue(high)}`}${bad}`;
}

// --- A tensor as a little picture: its units on the grid that its layer has in the network, one pixel each.

/** Pixels along a side: of larger ones every so many rows and columns one is painted. */
const MOST_PIXELS = 128;
/** Of a cell of the grid, in the page. */
const LARGEST_CELL = 8;

const OUTPUT = "Output";

type Net = Pick<NetScene, "layers" | "connections">;

/** The grid of the layer of this name, where there is one of this size; else that which its shape has by itself. */
export function gridFor(name: string, own: Grid, scene: Net | null): Grid {
  const layer = layerOf(name, scene);
  return layer?.grid.num_units === own.num_units ? layer.grid : own;
}

/** What the model returns is called Output, whatever the layer that gives it. */
function layerOf(name: string, scene: Net | null): NetLayer | undefined {
  const found = scene?.layers.find((one) => one.name === name);
  if (found !== undefined || name !== OUTPUT) return found;
  const sources = new Set(scene?.connections.map(({ source }) => source));
  return scene?.layers.findLast((one) => !one.is_input && !sources.has(one.name));
}

/** Its size in the page: as large as there is room, and whole pixels for each unit where they are few. */
export function shownSize(grid: Grid, room: { width: number; height: number }): { width: number; height: number } {
  const { columns, rows } = plateSize(grid);
  const fit = Math.min(room.width / columns, room.height / rows, LARGEST_CELL);
  const cell = fit >= 1 ? Math.floor(fit) : fit;
  return { width: Math.max(1, Math.round(columns * cell)), height: Math.max(1, Math.round(rows * cell)) };
}
