/** The columns of one series as the page knows it: buckets or points, and the points that came after them. */
import type { Reply } from "../source/source";
import type { SeriesBlock } from "../wire";
import type { Axis } from "./options";

/** A point counts as a bucket of one. Values are as they were logged: NaN and infinity, too. */
export const COLUMNS = ["step", "time", "mean", "low", "high", "count", "bad"] as const;
export type Column = (typeof COLUMNS)[number];
export type Columns = Readonly<Record<Column, Float64Array>>;

/** What a question asked for; null for all that there is. */
export interface Asked {
  readonly axis: Axis;
  readonly low: number | null;
  readonly high: number | null;
}

const NOTHING_ASKED: Asked = { axis: "step", low: null, high: null };
const FIRST_ROOM = 64;
const NUM_COLUMNS = { points: 3, buckets: COLUMNS.length } as const;

export class SeriesData {
  /** What it was asked with. */
  asked: Asked = NOTHING_ASKED;
  size = 0;
  /** How many of its items came first, before the points that were added. */
  numHead = 0;
  numPoints = 0;
  /** When the run began. */
  started = 0;
  /** Is anything of it a bucket of several points? */
  hasBuckets = false;
  /** Rises with every change. */
  version = 0;
  #columns = emptyColumns(FIRST_ROOM);

  column(name: Column): Float64Array {
    return this.#columns[name].subarray(0, this.size);
  }

  /** Take a block in, in the place of what is there or after it. */
  take(block: SeriesBlock, values: Float64Array, asked: Asked): void {
    if (block.is_fresh) {
      this.size = 0;
      this.hasBuckets = false;
      this.asked = asked;
    }
    this.#makeRoom(this.size + block.num_items);
    if (block.form === "buckets") this.#takeBuckets(block.num_items, values);
    else this.#takePoints(block.num_items, values);
    this.size += block.num_items;
    if (block.is_fresh) this.numHead = this.size;
    this.numPoints = block.num_points;
    this.started = block.started;
    this.version += 1;
  }

  #takeBuckets(count: number, values: Float64Array): void {
    COLUMNS.forEach((name, at) => {
      this.#columns[name].set(values.subarray(at * count, (at + 1) * count), this.size);
    });
    this.hasBuckets = this.hasBuckets || count > 0;
  }

  #takePoints(count: number, values: Float64Array): void {
    const { step, time, mean, low, high, count: counts, bad } = this.#columns;
    const [start, end] = [this.size, this.size + count];
    const logged = values.subarray(2 * count, 3 * count);
    step.set(values.subarray(0, count), start);
    time.set(values.subarray(count, 2 * count), start);
    for (const column of [mean, low, high]) column.set(logged, start);
    counts.fill(1, start, end);
    for (let at = start; at < end; at++) bad[at] = Number.isFinite(mean[at]) ? 0 : 1;
  }

  #makeRoom(size: number): void {
    const before = this.#columns;
    const room = before.step.length;
    if (size <= room) return;
    this.#columns = emptyColumns(Math.max(size, 2 * room));
    for (const name of COLUMNS) this.#columns[name].set(before[name].subarray(0, this.size));
  }
}

export function emptyColumns(size: number): Columns {
  return Object.fromEntries(COLUMNS.map((name) => [name, new Float64Array(size)])) as unknown as Columns;
}

/** The blocks of an answer, each with the numbers that belong to it. Throws where there are too few. */
export function blocksOf(reply: Reply): [SeriesBlock, Float64Array][] {
  if (reply.answer.type !== "series") return [];
  let offset = reply.offset;
  return reply.answer.blocks.map((block) => {
    const length = NUM_COLUMNS[block.form] * block.num_items;
    const values = new Float64Array(reply.buffer, offset, length);
    offset += 8 * length;
    return [block, values];
  });
}
