/** Histograms over time as a drawing needs them: which rows, how high, and what lies under a place. */
import { formatCount, formatValue } from "../../data/format";
import type { HistogramGrid } from "../../data/requests";
import type { Cell } from "../../data/save-file";

const LINE_HEIGHT = 14;

/** Rows far enough from each other for a line of text each: always so many on, up from the last one. */
export function labelledRows<Row extends readonly [step: number, y: number]>(rows: readonly Row[]): readonly Row[] {
  const [first, last] = [rows[0]?.[1] ?? 0, rows.at(-1)?.[1] ?? 0];
  const every = Math.max(1, Math.ceil((LINE_HEIGHT * (rows.length - 1)) / Math.max(1, Math.abs(last - first))));
  return rows.filter((_, at) => (rows.length - 1 - at) % every === 0);
}

/** From a count to a height between 0 and 1; the most that there is anywhere is 1. */
export function heightScale(grid: HistogramGrid, isLog: boolean): (count: number) => number {
  let most = 0;
  for (const count of grid.counts) if (count > most) most = count;
  if (most === 0) return () => 0;
  if (!isLog) return (count) => count / most;
  // Counts may be shares of one: then a logarithm of 1 + count would be nearly straight.
  let least = most;
  for (const count of grid.counts) if (count > 0 && count < least) least = count;
  const unit = Math.min(1, least);
  const whole = Math.log1p(most / unit);
  return (count) => (count > 0 ? Math.log1p(count / unit) / whole : 0);
}

export function countAt(grid: HistogramGrid, row: number, bin: number): number {
  return grid.counts[row * grid.numBins + bin] ?? 0;
}

export function binEdges({ low, high, numBins }: HistogramGrid, bin: number): [from: number, to: number] {
  const width = (high - low) / numBins;
  return [low + bin * width, bin === numBins - 1 ? high : low + (bin + 1) * width];
}

/** Where each row lies along the axis of steps, from 0 to 1: halfway to its neighbours. */
export function rowSpans(steps: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const [first, last] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  const extent = last - first;
  if (extent <= 0) return steps.map((_, at) => [at / steps.length, (at + 1) / steps.length]);
  const middle = (at: number): number => ((steps[at]! + steps[at + 1]!) / 2 - first) / extent;
  return steps.map((_, at) => [at === 0 ? 0 : middle(at - 1), at === steps.length - 1 ? 1 : middle(at)]);
}

export function rowUnder(steps: readonly number[], place: number): number {
  const spans = rowSpans(steps);
  const found = spans.findIndex(([, to]) => place < to);
  return found === -1 ? spans.length - 1 : found;
}

/** The bin under a place between the lowest edge (0) and the highest (1). */
export function binUnder(numBins: number, place: number): number {
  return Math.min(numBins - 1, Math.max(0, Math.floor(place * numBins)));
}

/** `step 3 200: −0.12 to 0.03 · 182` */
export function describeCell(grid: HistogramGrid, row: number, bin: number): string {
  const [from, to] = binEdges(grid, bin);
  const count = countAt(grid, row, bin);
  const amount = Number.isInteger(count) ? formatCount(count) : formatValue(count, 4);
  return `step ${formatCount(grid.steps[row] ?? 0)}: ${formatValue(from, 3)} to ${formatValue(to, 3)} · ${amount}`;
}

export function gridRows(grid: HistogramGrid): Cell[][] {
  const rows: Cell[][] = [["step", "from", "to", "count"]];
  for (const [row, step] of grid.steps.entries()) {
    for (let bin = 0; bin < grid.numBins; bin++)
      rows.push([step, ...binEdges(grid, bin), countAt(grid, row, bin)]);
  }
  return rows;
}
