/** Tensors in the cells of a table: fetched for the rows in view, and painted as little pictures. */
import { computed } from "@preact/signals";
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { formatNumberOf, formatValue } from "../../../data/format";
import { messageOf } from "../../../data/message-of";
import * as net from "../../../data/network/store";
import { askOf, ByteCache } from "../../../data/requests";
import { Refusal, type Source } from "../../../data/source";
import * as page from "../../../data/store";
import { paintUnits } from "../../../stage3d/network/item-pictures";
import { plateSize } from "../../../stage3d/network/plates";
import { Pixels } from "../../../ui/Pixels";
import { autoScale, rangeOf, readPalette, type Scale } from "../../../ui/colour-scale";
import type { Grid, NetLayer, NetScene, TableRows } from "../../../wire";
import type { ShownColumn } from "./columns";
import { cellOf, columnOf, numberIn, type Row, sizeOf } from "./table-data";

export interface CellColumn {
  readonly runId: string;
  readonly record: string;
  readonly name: string;
  readonly numRows: number;
  /** Of one cell. */
  readonly shape: readonly number[];
}

interface CellPlace {
  readonly column: CellColumn;
  readonly row: number;
}

interface Limits {
  readonly low: number;
  readonly high: number;
}

interface CellValues {
  readonly values: Float32Array;
  readonly refusal: string;
}

/** Some rows of a column. The limits are those of the whole column; null where it has no finite value. */
interface Block extends CellValues {
  readonly limits: Limits | null;
}

const MAX_CACHED_BYTES = 32_000_000;
const MAX_BLOCK_VALUES = 1 << 16;
const MAX_BLOCK_ROWS = 32;
/** Of a block besides its values. */
const ENTRY_BYTES = 200;
const AT_A_TIME = 3;

/** Fetches what is in view, some rows at a time, and keeps what was fetched. */
export function cellBlocks(source: Source | null, hear: () => void) {
  const cache = new ByteCache<Block>(MAX_CACHED_BYTES);
  const known = new Map<string, Limits>();
  const pending = new Set<string>();
  let wanted: readonly CellPlace[] = [];
  const advance = (): void => {
    for (const { column, row } of wanted) {
      if (pending.size >= AT_A_TIME) return;
      const at = Math.floor(row / blockRows(column.shape));
      const key = keyOf(column, at);
      if (!pending.has(key) && cache.get(key) === undefined) void fetch(column, at, key);
    }
  };
  const limits = (column: CellColumn): Limits | null => known.get(keyOf(column)) ?? null;
  const fetch = async (column: CellColumn, at: number, key: string): Promise<void> => {
    pending.add(key);
    // What cannot be read is kept, too: it is not asked for again and again.
    const block = await askBlock(column, at, source).catch(
      (reason: unknown): Block => ({ values: new Float32Array(0), limits: null, refusal: messageOf(reason) }),
    );
    pending.delete(key);
    cache.set(key, block, block.values.byteLength + ENTRY_BYTES);
    const widened = widest([limits(column), block.limits]);
    if (widened !== null) known.set(keyOf(column), widened);
    hear();
    advance();
  };
  return {
    /** What is in view now, from the first on. What was wanted before and is not here any more is not asked for. */
    want: (places: readonly CellPlace[]): void => {
      wanted = places;
      advance();
    },
    at: ({ column, row }: CellPlace): CellValues | null => {
      const [rows, size] = [blockRows(column.shape), sizeOf(column.shape)];
      const block = cache.get(keyOf(column, Math.floor(row / rows)));
      const from = (row % rows) * size;
      return block === undefined ? null : { values: block.values.subarray(from, from + size), refusal: block.refusal };
    },
    /** Null until something of the column has come, and where it has no finite value. */
    limits,
  };
}

async function askBlock({ runId, record, name, numRows, shape }: CellColumn, at: number, source: Source | null): Promise<Block> {
  const rows = blockRows(shape);
  const [first_row, num_rows] = [at * rows, Math.min(rows, numRows - at * rows)];
  const { answer, buffer, offset } = await askOf(
    { type: "table_cells", run_id: runId, record, column: name, first_row, num_rows },
    "table_cells",
    source,
  );
  const count = num_rows * sizeOf(shape);
  if (buffer.byteLength - offset !== 4 * count) {
    throw new Refusal(`${count} numbers came as ${buffer.byteLength - offset} bytes: the record is damaged.`);
  }
  const { low, high } = answer;
  const limits = low === null || high === null ? null : { low, high };
  return { values: new Float32Array(buffer, offset, count), limits, refusal: "" };
}

function blockRows(shape: readonly number[]): number {
  return Math.max(1, Math.min(MAX_BLOCK_ROWS, Math.floor(MAX_BLOCK_VALUES / Math.max(1, sizeOf(shape)))));
}

/** Of a block or, without its place, of the column. */
function keyOf({ runId, record, name }: CellColumn, at = -1): string {
  return [runId, record, name, at].join("\n");
}

// --- The tensors of the rows in view, and between which limits each column of them is coloured.

type Cells = ReturnType<typeof useCells>;

/** So many are kept of what was seen before. */
const MOST_BEFORE = 4000;

/** `parts` are all that the table shows, `inView` those of its rows that are. */
export function useCells(columns: readonly ShownColumn[], parts: readonly TableRows[], inView: readonly Row[]) {
  const [, hear] = useReducer((count: number) => count + 1, 0);
  const source = page.source.value;
  const blocks = useMemo(() => cellBlocks(source, () => hear(undefined)), [source]);
  useEffect(() => () => blocks.want([]), [blocks]);
  const tensors = columns.filter(({ form }) => form === "tensor");
  useEffect(() => {
    const names = tensors.flatMap((column) => column.names);
    blocks.want(inView.flatMap((row) => names.flatMap((name) => placeOf(row, name) ?? [])));
  });
  /** While those of a new test are on their way, those of the last one stay. */
  const before = useRef(new Map<string, CellValues>());
  const limitsOf = (name: string): Limits | null => {
    const places = parts.map((part) => placeOf({ part, at: 0 }, name));
    return widest(places.map((place) => place && blocks.limits(place.column)));
  };
  const scales = tensors.flatMap(({ names }) => {
    const found = scalesFor(names.map(limitsOf));
    return names.flatMap((name, at) => (found[at] ? [[name, found[at]] as const] : []));
  });
  return {
    /** By the name of the tensor; nothing until some of it has come. */
    scales: new Map<string, Scale>(scales),
    /** Null where the row has no such tensor, or it has not come yet. */
    at: (row: Row, name: string): CellValues | null => {
      const place = placeOf(row, name);
      if (place === null) return null;
      const found = blocks.at(place);
      const key = `${name} ${row.at} ${place.column.shape.join()}`;
      if (found === null) return before.current.get(key) ?? null;
      if (before.current.size > MOST_BEFORE) before.current.clear();
      before.current.set(key, found);
      return found;
    },
  };
}

function placeOf(row: Row, name: string): CellPlace | null {
  const column = columnOf(row, name);
  if (column?.form !== "tensor") return null;
  const { run_id: runId, record, rows } = row.part;
  return { column: { runId, record, name, numRows: rows.length, shape: column.shape }, row: row.at };
}

function widest(limits: readonly (Limits | null)[]): Limits | null {
  const known = limits.filter((one) => one !== null);
  if (known.length === 0) return null;
  return { low: Math.min(...known.map(({ low }) => low)), high: Math.max(...known.map(({ high }) => high)) };
}

/**
 * One scale for tensors that are compared, so that what is equal looks equal; but one for each where they are not of
 * the same kind, as the scores of classes beside ones and zeros.
 */
export function scalesFor(limits: readonly (Limits | null)[]): (Scale | null)[] {
  const known = limits.filter((one) => one !== null);
  const all = known.length > 0 && areAlike(known) ? widest(known) : null;
  return limits.map((one) => one && scaleOf(all ?? one));
}

/** No one reaches further beyond the last than that one is wide. */
function areAlike(limits: readonly Limits[]): boolean {
  const { low, high } = limits.at(-1)!;
  const extent = high - low;
  return limits.every((one) => one.low >= low - extent && one.high <= high + extent);
}

function scaleOf({ low, high }: Limits): Scale {
  return autoScale({ min: low, max: high });
}

// --- A tensor as a little picture: its units on the grid that its layer has in the network, one pixel each.

const ROOM = { width: 96, height: 28 };
const ROOM_OF_TWO = { width: 96, height: 13 };
const LOW = 3;
/** Where no value is a number, there are no limits between which to colour. */
const NO_SCALE: Scale = { map: "seq", low: 0, high: 1 };

/** Null where the column has no tensors. What is compared is drawn alike: on the grid of the first. */
export function gridOfCell(row: Row, { form, names: [first = ""] }: ShownColumn, name = first): Grid | null {
  const own = form === "tensor" ? row.part.grids[name] : undefined;
  return own === undefined ? null : gridFor(first, own, net.scene.value);
}

/** Those of few rows stand over each other, others beside each other. */
function isLow({ rows, tiles_down: down }: Grid): boolean {
  return rows * down <= LOW;
}

interface CellProps {
  row: Row;
  column: ShownColumn;
  cells: Cells;
}

export function PictureCell({ row, column, cells }: CellProps) {
  const grid = gridOfCell(row, column);
  const isBeside = column.names.length > 1 && !(grid !== null && isLow(grid));
  return (
    <td class="text picture-cell">
      <div class={isBeside ? "beside" : undefined}>
        {column.names.map((name) => (
          <Picture key={name} name={name} row={row} column={column} cells={cells} />
        ))}
      </div>
    </td>
  );
}

/** Read anew whenever the theme changes, not for every cell. */
const palettes = computed(() => ({ tick: page.themeTick.value, div: readPalette("div"), seq: readPalette("seq") }));

function Picture({ name, row, column, cells }: CellProps & { name: string }) {
  const grid = gridOfCell(row, column, name);
  if (grid === null) return null;
  const found = cells.at(row, name);
  const full = `${name} of trial ${numberIn(cellOf(row, "trial")) ?? row.at}`;
  if (found === null) return <span class="cell-waiting" role="img" aria-label={`${full}: loading`} />;
  const { values, refusal } = found;
  if (refusal !== "") {
    return (
      <span class="muted" title={refusal}>
        not readable
      </span>
    );
  }
  const scale = cells.scales.get(name) ?? NO_SCALE;
  const palette = palettes.value[scale.map];
  const { width, height } = shownSize(grid, column.names.length > 1 && isLow(grid) ? ROOM_OF_TWO : ROOM);
  return (
    <Pixels
      class="cell-picture"
      role="img"
      aria-label={`${full}: ${summaryOf(values)}`}
      style={{ width: `${width}px`, height: `${height}px` }}
      picture={() => paintUnits((unit) => values[unit] ?? NaN, grid, scale, palette, MOST_PIXELS)}
      depends={[values, grid, scale.map, scale.low, scale.high, palette]}
    />
  );
}

/** In one sentence, for those who do not see it. */
function summaryOf(values: Float32Array): string {
  const range = rangeOf(values);
  const numBad = values.reduce((count, value) => count + (Number.isFinite(value) ? 0 : 1), 0);
  const bad = numBad > 0 ? `, ${formatNumberOf(numBad, "is", "are")} NaN or infinite` : "";
  const count = formatNumberOf(values.length, "value");
  if (range === null) return `${count}${bad}`;
  const { min, max } = range;
  return `${count}${min === max ? `, all ${formatValue(min)}` : ` from ${formatValue(min)} to ${formatValue(max)}`}${bad}`;
}

/** Pixels along a side: of larger ones every so many rows and columns one is painted. */
const MOST_PIXELS = 128;
/** Of a cell of the grid, in the page. */
const LARGEST_CELL = 8;

const OUTPUT = "Output";

/** The grid of the layer of this name, where there is one of this size; else that which its shape has by itself. */
export function gridFor(name: string, own: Grid, scene: Pick<NetScene, "layers" | "connections"> | null): Grid {
  const layer = layerOf(name, scene);
  return layer?.grid.num_units === own.num_units ? layer.grid : own;
}

/** What the model returns is called Output, whatever the layer that gives it. */
function layerOf(name: string, scene: Parameters<typeof gridFor>[2]): NetLayer | undefined {
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
