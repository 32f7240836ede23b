/** All figures of one watched row over steps, as the server sends them. */
import type { Reply } from "../source/source";
import type { WatchedRow } from "../wire";

export interface RowFigures {
  readonly runId: string;
  readonly rank: number;
  readonly name: string;
  /** Null: there is none of this name. */
  readonly row: WatchedRow | null;
  readonly firstSteps: readonly number[];
  readonly lastSteps: readonly number[];
  /** By the name of the figure; NaN where nothing is known. */
  readonly columns: ReadonlyMap<string, Float32Array>;
  /** Empty where there is none. */
  readonly tensorName: string;
  readonly histogramName: string;
}

interface Asked {
  readonly runId: string;
  readonly rank: number;
  readonly name: string;
}

/** Null for an answer to something else, or one that is damaged. */
export function rowFiguresOf({ answer, buffer, offset }: Reply, asked: Asked): RowFigures | null {
  if (answer.type !== "watched_row") return null;
  const { first_steps: firstSteps, last_steps: lastSteps } = answer;
  const width = firstSteps.length;
  if (lastSteps.length !== width || buffer.byteLength - offset < 4 * width * answer.columns.length) return null;
  const columns = answer.columns.map(
    (name, at) => [name, new Float32Array(buffer, offset + 4 * width * at, width)] as const,
  );
  return {
    ...asked,
    ...{ firstSteps, lastSteps },
    row: answer.row,
    columns: new Map(columns),
    tensorName: answer.tensor_name,
    histogramName: answer.histogram_name,
  };
}

/** The step in the middle of each bucket. */
export function middleSteps({ firstSteps, lastSteps }: Pick<RowFigures, "firstSteps" | "lastSteps">): number[] {
  return firstSteps.map((first, at) => (first + lastSteps[at]!) / 2);
}

const NOTHING = new Float32Array(0);

/** Is there any value? */
export function hasColumn({ columns }: RowFigures, name: string): boolean {
  return (columns.get(name) ?? NOTHING).some((value) => !Number.isNaN(value));
}

export function columnOf({ columns }: RowFigures, name: string): Float32Array {
  return columns.get(name) ?? NOTHING;
}
