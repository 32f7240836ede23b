/** All figures of one watched row over steps, as the server sends them. */
import { formatNumberOf } from "../format";
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
  /** By the name of the figure: 1 where it is that of a sample. */
  readonly estimates: ReadonlyMap<string, Uint8Array>;
  /** How many values the latest estimates are of; null where there are none, or nobody knows. */
  readonly numValues: number | null;
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
  const count = width * answer.columns.length;
  if (lastSteps.length !== width || buffer.byteLength - offset < 5 * count) return null;
  const columns = answer.columns.map(
    (name, at) => [name, new Float32Array(buffer, offset + 4 * width * at, width)] as const,
  );
  const estimates = answer.columns.map(
    (name, at) => [name, new Uint8Array(buffer, offset + 4 * count + width * at, width)] as const,
  );
  return {
    ...asked,
    ...{ firstSteps, lastSteps },
    row: answer.row,
    columns: new Map(columns),
    estimates: new Map(estimates),
    numValues: answer.num_values,
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

export function isEstimate({ estimates }: RowFigures, name: string, at: number): boolean {
  return estimates.get(name)?.[at] === 1;
}

/**
 * The values of whole tensors alone and their steps, where there are some: a line that went through the extremes of
 * samples, too, would jump up and down.
 */
export function exactLine(figures: RowFigures, name: string): { steps: number[]; values: Float32Array } {
  const [values, steps] = [columnOf(figures, name), middleSteps(figures)];
  const isKept = (at: number): boolean => !Number.isNaN(values[at]!) && !isEstimate(figures, name, at);
  const kept = [...values.keys()].filter(isKept);
  if (kept.length === 0) return { steps, values };
  return { steps: kept.map((at) => steps[at]!), values: values.filter((_, at) => isKept(at)) };
}

/** `from 512 values`; empty for a figure of the whole tensor. */
export function sampleText(figures: RowFigures, name: string, at: number): string {
  if (!isEstimate(figures, name, at)) return "";
  return figures.numValues === null ? "from a sample" : `from ${formatNumberOf(figures.numValues, "value")}`;
}
