/** One figure of all watched rows over steps, as the server sends it. */
import type { Reply } from "../../data/source";
import type { WatchedRow } from "../../wire";

/** What was in a cell beside its figure, which is of the finite values. */
export const HAS_NAN = 1;
export const HAS_INF = 2;
/** The figure is that of a sample at some of its steps. */
export const IS_ESTIMATE = 4;

export interface WatchedGrid {
  readonly runId: string;
  readonly rank: number;
  readonly column: string;
  readonly ranks: readonly number[];
  readonly columns: readonly string[];
  readonly rows: readonly WatchedRow[];
  readonly firstSteps: readonly number[];
  readonly lastSteps: readonly number[];
  /** [row][bucket]; NaN where nothing is known. */
  readonly values: Float32Array;
  /** [row][bucket]: HAS_NAN, HAS_INF, IS_ESTIMATE. */
  readonly marks: Uint8Array;
  readonly numSteps: number;
  readonly every: string;
  /** How often it was really watched of late. */
  readonly got: string;
}

interface Asked {
  readonly runId: string;
  readonly rank: number;
  readonly column: string;
}

/** Null for an answer to something else, or one that is damaged. */
export function gridOf({ answer, buffer, offset }: Reply, { runId, rank, column }: Asked): WatchedGrid | null {
  if (answer.type !== "watched") return null;
  const { rows, first_steps: firstSteps, last_steps: lastSteps } = answer;
  const count = rows.length * firstSteps.length;
  const numBytes = buffer.byteLength - offset;
  if (lastSteps.length !== firstSteps.length || numBytes < 5 * count) return null;
  return {
    ...{ runId, rank, column, rows, firstSteps, lastSteps },
    ranks: answer.ranks,
    columns: answer.columns,
    values: new Float32Array(buffer, offset, count),
    marks: new Uint8Array(buffer, offset + 4 * count, count),
    numSteps: answer.num_steps,
    every: answer.every,
    got: answer.got,
  };
}

export function numBuckets({ firstSteps }: Pick<WatchedGrid, "firstSteps">): number {
  return firstSteps.length;
}

export interface Cell {
  readonly value: number;
  readonly marks: number;
}

export function cellAt(grid: WatchedGrid, row: number, bucket: number): Cell {
  const at = row * numBuckets(grid) + bucket;
  return { value: grid.values[at] ?? NaN, marks: grid.marks[at] ?? 0 };
}

/** The rows that have a figure anywhere. */
export function rowsWithAny(grid: WatchedGrid): readonly boolean[] {
  const width = numBuckets(grid);
  return grid.rows.map((_, row) => {
    for (let at = row * width; at < (row + 1) * width; at++) {
      if (!Number.isNaN(grid.values[at]!)) return true;
    }
    return false;
  });
}

/**
 * The names of rows that were never seen, such as those of layers that are not called. Before anything is seen, a row
 * has no shape; and where all steps are shown, with a figure that every row has, one without any was not seen either.
 */
export function neverSeen(grid: WatchedGrid, isWhole: boolean, before: ReadonlySet<string>): ReadonlySet<string> {
  const width = numBuckets(grid);
  if (width === 0) return before;
  const hasAny = rowsWithAny(grid);
  const found = grid.rows.filter(({ name, shape }, row) => {
    if (hasAny[row] === true || grid.marks.subarray(row * width, (row + 1) * width).some((mark) => mark !== 0)) return false;
    return isWhole || shape === null || before.has(name);
  });
  return new Set(found.map(({ name }) => name));
}
