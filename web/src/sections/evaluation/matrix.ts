/** A confusion matrix: counts by true class and by what was said instead. */
import { formatCount, formatValue } from "../../format";
import { Refusal } from "../../source/source";
import type { FullRecord } from "../asking";
import { floatsOf } from "../asking";
import type { Cell } from "../../files/csv";

export const MAX_CLASSES = 100;
const NUM_COLOURS = 10;
const FIRST_DARK = 5; // from this colour on the ink is that of the surface

export interface Matrix {
  readonly labels: readonly string[];
  /** A row for each true class. */
  readonly counts: Float64Array;
}

export interface Place {
  readonly row: number;
  readonly column: number;
}

export function readMatrix({ entry, bytes }: FullRecord): Matrix {
  if (entry.head.kind !== "confusion")
    throw new Refusal(`This is no confusion matrix but a record of kind ${entry.head.kind}.`);
  const { labels } = entry.head;
  return { labels, counts: floatsOf(bytes, labels.length ** 2) };
}

export function countIn({ labels, counts }: Matrix, { row, column }: Place): number {
  return counts[row * labels.length + column] ?? 0;
}

export function rowSum({ labels, counts }: Matrix, row: number): number {
  let sum = 0;
  for (let column = 0; column < labels.length; column++) sum += counts[row * labels.length + column]!;
  return sum;
}

/** The share of a true class that was read as another, in per cent; 0 where there is nothing of the class. */
export function percentIn(matrix: Matrix, place: Place): number {
  const sum = rowSum(matrix, place.row);
  return sum > 0 ? (100 * countIn(matrix, place)) / sum : 0;
}

/** The numbers that are shown, and the highest of them. */
export function shownNumbers(matrix: Matrix, isShare: boolean): { numbers: Float64Array; most: number } {
  const size = matrix.labels.length;
  const numbers = matrix.counts.map((count, at) =>
    isShare ? percentIn(matrix, { row: Math.floor(at / size), column: at % size }) : count,
  );
  let most = 0;
  for (const number of numbers) if (number > most) most = number;
  return { numbers, most: isShare ? 100 : most };
}

/** The step of the sequential map. What is not nought never has the colour of nought. */
export function colourStep(number: number, most: number): number {
  if (!(number > 0) || most <= 0) return 0;
  return Math.max(1, Math.round(Math.min(1, number / most) * (NUM_COLOURS - 1)));
}

/** Is the ink on a colour that of the surface? The contrast is then at least 4.7:1. */
export function isInverse(step: number): boolean {
  return step >= FIRST_DARK;
}

/** `cat read as dog: 38` */
export function describePlace(matrix: Matrix, place: Place, isShare: boolean): string {
  const [truth, said] = [matrix.labels[place.row] ?? "", matrix.labels[place.column] ?? ""];
  const verb = place.row === place.column ? `${truth} read as itself` : `${truth} read as ${said}`;
  const count = countIn(matrix, place);
  const plain = Number.isInteger(count) ? formatCount(count) : formatValue(count);
  return isShare ? `${verb}: ${percentIn(matrix, place).toFixed(1)}\u202f% (${plain})` : `${verb}: ${plain}`;
}

/** The share of all that was read right; NaN for an empty matrix. */
export function accuracyOf({ labels, counts }: Matrix): number {
  let [right, all] = [0, 0];
  for (const [at, count] of counts.entries()) {
    all += count;
    if (Math.floor(at / labels.length) === at % labels.length) right += count;
  }
  return all > 0 ? right / all : NaN;
}

/** Move by keys, but not out of the matrix. */
export function moved(place: Place, key: string, size: number): Place | null {
  const by: Record<string, readonly [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    Home: [0, -size],
    End: [0, size],
  };
  const step = by[key];
  if (step === undefined) return null;
  const within = (value: number): number => Math.min(size - 1, Math.max(0, value));
  return { row: within(place.row + step[0]), column: within(place.column + step[1]) };
}

export function matrixRows(matrix: Matrix): Cell[][] {
  const size = matrix.labels.length;
  const rows = matrix.labels.map((label, row): Cell[] => [
    label,
    ...matrix.counts.subarray(row * size, (row + 1) * size),
  ]);
  return [["true \\ read as", ...matrix.labels], ...rows];
}
