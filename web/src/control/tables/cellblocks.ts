/** Fetch the tensors in the cells of rows that are in view, some rows at a time, and keep what was fetched. */
import { ByteCache } from "../../sections/bytecache";
import { Refusal, type Asked, type Reply } from "../../source/source";

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
      const refusal = reason instanceof Error ? reason.message : String(reason);
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
