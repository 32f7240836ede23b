/** Fetch the tensors in the cells of rows that are in view, some rows at a time, and keep what was fetched. */
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { messageOf } from "../../../data/message-of";
import { ByteCache } from "../../../data/requests";
import { type Asked, Refusal, type Reply } from "../../../data/source";
import * as store from "../../../data/store";
import { autoScale, type Scale } from "../../../ui/colour-scale";
import type { TableRows } from "../../../wire";
import type { ShownColumn } from "./columns";
import { columnOf, type Row } from "./table-data";

/** A column of one record. */
export interface CellColumn {
  readonly runId: string;
  readonly record: string;
  readonly name: string;
  readonly numRows: number;
  /** Of one cell. */
  readonly shape: readonly number[];
}

export interface CellPlace {
  readonly column: CellColumn;
  readonly row: number;
}

/** Some rows of a column. The limits are those of the whole column. */
interface Block {
  readonly values: Float32Array;
  readonly low: number | null;
  readonly high: number | null;
  /** Why there are none; empty where there are. */
  readonly refusal: string;
}

export interface CellValues {
  readonly values: Float32Array;
  readonly refusal: string;
}

export interface Limits {
  readonly low: number;
  readonly high: number;
}

const MAX_CACHED_BYTES = 32_000_000;
const MAX_BLOCK_VALUES = 1 << 16;
const MAX_BLOCK_ROWS = 32;
/** Of a block besides its values. */
const ENTRY_BYTES = 200;
const AT_A_TIME = 3;

export class CellBlocks {
  readonly #ask: (question: Asked) => Promise<Reply>;
  readonly #hear: () => void;
  readonly #cache = new ByteCache<Block>(MAX_CACHED_BYTES);
  readonly #limits = new Map<string, Limits>();
  #wanted: readonly CellPlace[] = [];
  readonly #pending = new Set<string>();
  #isStopped = false;

  constructor(ask: (question: Asked) => Promise<Reply>, hear: () => void) {
    this.#ask = ask;
    this.#hear = hear;
  }

  /** What is in view now, from the first on. What was wanted before and is not here any more is not asked for. */
  want(places: readonly CellPlace[]): void {
    this.#wanted = places;
    this.#advance();
  }

  /** Null until they have come. */
  at({ column, row }: CellPlace): CellValues | null {
    const [rows, size] = [blockRows(column.shape), sizeOf(column.shape)];
    const block = this.#cache.get(keyOf(column, Math.floor(row / rows)));
    if (block === undefined) return null;
    const from = (row % rows) * size;
    return { values: block.values.subarray(from, from + size), refusal: block.refusal };
  }

  /** Null until something of the column has come, and where it has no finite value. */
  limits(column: CellColumn): Limits | null {
    return this.#limits.get(columnKey(column)) ?? null;
  }

  stop(): void {
    this.#isStopped = true;
    this.#wanted = [];
  }

  #advance(): void {
    for (const { column, row } of this.#wanted) {
      if (this.#pending.size >= AT_A_TIME) return;
      const at = Math.floor(row / blockRows(column.shape));
      const key = keyOf(column, at);
      if (!this.#pending.has(key) && this.#cache.get(key) === undefined) void this.#fetch(column, at, key);
    }
  }

  async #fetch(column: CellColumn, at: number, key: string): Promise<void> {
    this.#pending.add(key);
    const block = await this.#blockOf(column, at);
    this.#pending.delete(key);
    if (this.#isStopped) return;
    this.#cache.set(key, block, block.values.byteLength + ENTRY_BYTES);
    this.#see(column, block);
    this.#hear();
    this.#advance();
  }

  async #blockOf(column: CellColumn, at: number): Promise<Block> {
    const rows = blockRows(column.shape);
    const first = at * rows;
    const num_rows = Math.min(rows, column.numRows - first);
    const { runId: run_id, record, name } = column;
    try {
      const asked: Asked = { type: "table_cells", run_id, record, column: name, first_row: first, num_rows };
      return blockIn(await this.#ask(asked), num_rows * sizeOf(column.shape));
    } catch (reason) {
      // It is kept: what cannot be read is not asked for again and again.
      const refusal = messageOf(reason);
      return { values: new Float32Array(0), low: null, high: null, refusal };
    }
  }

  #see(column: CellColumn, { low, high }: Block): void {
    if (low === null || high === null) return;
    const known = this.#limits.get(columnKey(column));
    this.#limits.set(columnKey(column), {
      low: Math.min(known?.low ?? low, low),
      high: Math.max(known?.high ?? high, high),
    });
  }
}

function blockIn({ answer, buffer, offset }: Reply, count: number): Block {
  if (answer.type !== "table_cells") throw new Refusal(`The server answered with ${answer.type}.`);
  if (buffer.byteLength - offset !== 4 * count) {
    throw new Refusal(`${count} numbers came as ${buffer.byteLength - offset} bytes: the record is damaged.`);
  }
  return { values: new Float32Array(buffer, offset, count), low: answer.low, high: answer.high, refusal: "" };
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function blockRows(shape: readonly number[]): number {
  return Math.max(1, Math.min(MAX_BLOCK_ROWS, Math.floor(MAX_BLOCK_VALUES / Math.max(1, sizeOf(shape)))));
}

function columnKey({ runId, record, name }: CellColumn): string {
  return JSON.stringify([runId, record, name]);
}

function keyOf(column: CellColumn, at: number): string {
  return `${columnKey(column)} ${at}`;
}

// --- The tensors of the rows in view, and between which limits each column of them is coloured.

export interface Cells {
  /** Null where the row has no such tensor, or it has not come yet. */
  at(row: Row, name: string): CellValues | null;
  /** By the name of the tensor; nothing until some of it has come. */
  scalesOf(column: ShownColumn): ReadonlyMap<string, Scale>;
}

/** So many are kept of what was seen before. */
const MOST_BEFORE = 4000;

interface Wish {
  readonly columns: readonly ShownColumn[];
  /** All that the table shows, and those of its rows that are in view. */
  readonly parts: readonly TableRows[];
  readonly inView: readonly Row[];
}

export function useCells({ columns, parts, inView }: Wish): Cells {
  const [, hear] = useReducer((count: number) => count + 1, 0);
  const source = store.source.value;
  const blocks = useMemo(() => {
    const ask = source === null ? () => Promise.reject(new Refusal("There is no server.")) : source.ask.bind(source);
    return new CellBlocks(ask, () => hear(undefined));
  }, [source]);
  useEffect(() => () => blocks.stop(), [blocks]);
  const names = columns.filter(({ form }) => form === "tensor").flatMap((column) => column.names);
  useEffect(() => {
    const places = inView.flatMap((row) => names.flatMap((name) => placesOf(row, name)));
    blocks.want(places);
  });
  /** While those of a new test are on their way, those of the last one stay. */
  const before = useRef(new Map<string, CellValues>());
  return {
    at: (row, name) => {
      const [place] = placesOf(row, name);
      if (place === undefined) return null;
      const found = blocks.at(place);
      const key = `${name} ${row.at} ${place.column.shape.join()}`;
      if (found === null) return before.current.get(key) ?? null;
      if (before.current.size > MOST_BEFORE) before.current.clear();
      before.current.set(key, found);
      return found;
    },
    scalesOf: ({ form, names: all }) => {
      if (form !== "tensor") return new Map();
      const limits = all.map((name) => {
        const places = parts.flatMap((part) => placesOf({ part, at: 0 }, name));
        return widest(places.flatMap(({ column }) => blocks.limits(column) ?? []));
      });
      const scales = scalesFor(limits);
      return new Map(all.flatMap((name, at) => (scales[at] === null ? [] : [[name, scales[at]!] as const])));
    },
  };
}

/** None where the row has no tensor of this name. */
function placesOf(row: Row, name: string): CellPlace[] {
  const column = columnOf(row, name);
  if (column?.form !== "tensor") return [];
  const { run_id: runId, record, rows } = row.part;
  return [{ column: { runId, record, name, numRows: rows.length, shape: column.shape }, row: row.at }];
}

// --- Between which limits the pictures of a column are coloured.

/** Null where there are none. */
function widest(limits: readonly Limits[]): Limits | null {
  if (limits.length === 0) return null;
  return { low: Math.min(...limits.map(({ low }) => low)), high: Math.max(...limits.map(({ high }) => high)) };
}

/**
 * One scale for tensors that are compared, so that what is equal looks equal; but one for each where they are not of
 * the same kind, as the scores of classes beside ones and zeros.
 */
export function scalesFor(limits: readonly (Limits | null)[]): (Scale | null)[] {
  const known = limits.filter((one) => one !== null);
  const all = widest(known);
  if (all === null) return limits.map(() => null);
  const common = areAlike(known) ? scaleOf(all) : null;
  return limits.map((one) => (one === null ? null : (common ?? scaleOf(one))));
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
