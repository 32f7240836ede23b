/** Take the frames of a series question apart and keep what they say, block after block. */
import type { Reply } from "../../source/source";
import type { SeriesBlock } from "../../wire";

/** A scalar of a run as columns of equal length. */
export interface Points {
  readonly steps: Float64Array;
  readonly values: Float64Array;
}

const COLUMNS = { points: 3, buckets: 7 } as const;
const VALUE_COLUMN = 2;
const COUNT_COLUMN = 5;

export function pointsKey(runId: string, name: string): string {
  return `${runId} ${name}`;
}

/** What is known after a frame: fresh blocks take the place of what was there, others come after it. */
export function withFrame(known: ReadonlyMap<string, Points>, reply: Reply): ReadonlyMap<string, Points> {
  if (reply.answer.type !== "series") return known;
  const next = new Map(known);
  let offset = reply.offset;
  for (const block of reply.answer.blocks) {
    const key = pointsKey(block.run_id, block.name);
    const found = readBlock(block, reply.buffer, offset);
    offset += 8 * COLUMNS[block.form] * block.num_items;
    const before = next.get(key);
    next.set(key, block.is_fresh || before === undefined ? found : joined(before, found));
  }
  return next;
}

function readBlock({ form, num_items }: SeriesBlock, buffer: ArrayBuffer, offset: number): Points {
  const column = (at: number): Float64Array =>
    new Float64Array(buffer, offset + 8 * at * num_items, num_items).slice();
  const values = column(VALUE_COLUMN);
  if (form === "buckets") {
    // A bucket in which nothing was finite is a gap.
    const [counts, bad] = [column(COUNT_COLUMN), column(COUNT_COLUMN + 1)];
    values.forEach((_, at) => {
      if (bad[at]! >= counts[at]!) values[at] = NaN;
    });
  }
  return { steps: column(0), values };
}

function joined(before: Points, after: Points): Points {
  return { steps: concat(before.steps, after.steps), values: concat(before.values, after.values) };
}

function concat(before: Float64Array, after: Float64Array): Float64Array {
  const all = new Float64Array(before.length + after.length);
  all.set(before);
  all.set(after, before.length);
  return all;
}
