/** The lines of a unit over time on one axis: each by a power of ten, so that small ones can be seen beside large ones. */
import { linearTicks, niceSpan, type Span } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import type { Line } from "./readings";

export interface ScaledLine {
  readonly line: Line;
  /** What its values are multiplied with: 1, 10, 100… */
  readonly factor: number;
  /** Its colour, from 1 to 8. */
  readonly slot: number;
}

export interface Strip {
  readonly lines: readonly ScaledLine[];
  readonly steps: Span;
  readonly values: Span;
}

const MAX_COLOURS = 8;
const MOST_TICKS = 4;
/** Of the distance between two ticks, after its first: 2.5 and 1.25 are round numbers. */
const SPARE_DIGITS = 2;
/** A line that is not smaller than this share of the largest is left as it is. */
const VISIBLE = 0.2;
/** Values nearer to each other than this share of them differ by rounding: that is no course. */
const ROUNDING = 1e-6;

/** Null where no variable has a value. */
export function stripOf(lines: readonly Line[], isOff: (variable: string) => boolean): Strip | null {
  const all = lines.map((line, at) => ({ line, slot: (at % MAX_COLOURS) + 1, most: mostOf(line.values) }));
  const shown = all.filter(({ line }) => line.steps.length > 0 && !isOff(line.variable));
  if (shown.length === 0) return null;
  const largest = Math.max(0, ...shown.map(({ most }) => most));
  const scaled = shown.map(({ line, slot, most }) => ({ line, slot, factor: factorOf(most, largest) }));
  const steps = { low: Infinity, high: -Infinity };
  const values = { low: Infinity, high: -Infinity };
  for (const { line, factor } of scaled) {
    for (const step of line.steps) widen(steps, step);
    for (const value of line.values) if (Number.isFinite(value)) widen(values, value * factor);
  }
  if (values.low > values.high) [values.low, values.high] = [-1, 1];
  if (values.low === values.high) [values.low, values.high] = around(values.low, 0.5);
  else if (isRounding(values)) [values.low, values.high] = around((values.low + values.high) / 2, ROUNDING);
  return { lines: scaled, steps, values: niceSpan(values) };
}

export interface Tick {
  readonly value: number;
  readonly text: string;
}

/** With the digits that tell them apart, and no more. */
export function ticksOf(values: Span): readonly Tick[] {
  const ticks = linearTicks(values, MOST_TICKS);
  const gap = Math.min(...ticks.slice(1).map((value, at) => value - ticks[at]!));
  const decimals = Number.isFinite(gap) && gap > 0 ? Math.ceil(-Math.log10(gap)) + SPARE_DIGITS : 0;
  const rounded = ticks.map((value) => (decimals > 0 && decimals <= 100 ? Number(value.toFixed(decimals)) : value));
  const texts = formatTicks(rounded);
  return ticks.map((value, at) => ({ value, text: texts[at]! }));
}

function widen(span: { low: number; high: number }, value: number): void {
  span.low = Math.min(span.low, value);
  span.high = Math.max(span.high, value);
}

function isRounding({ low, high }: Span): boolean {
  return high - low < ROUNDING * Math.max(Math.abs(low), Math.abs(high));
}

/** With room for a share of the value on both sides. */
function around(value: number, share: number): [number, number] {
  const room = Math.abs(value) * share || share;
  return [value - room, value + room];
}

function mostOf(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

/** The power of ten that brings it nearest to the largest, and not above it. */
export function factorOf(most: number, largest: number): number {
  if (most === 0 || most >= VISIBLE * largest) return 1;
  const power = Math.floor(Math.log10(largest / most));
  return 10 ** Math.max(0, Math.min(300, power));
}

/** Where the last record up to a step stands in a line; -1 where there is none. */
export function lastUpTo(steps: Float64Array, step: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]! <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A row for each step at which any of them was recorded, the newest first. */
export function tableOf(lines: readonly Line[], most: number): { readonly rows: readonly (readonly (number | null)[])[]; readonly numAll: number } {
  const steps = [...new Set(lines.flatMap(({ steps: its }) => [...its]))].sort((a, b) => b - a);
  const rows = steps.slice(0, most).map((step) => [
    step,
    ...lines.map((line) => {
      const at = lastUpTo(line.steps, step);
      return at >= 0 && line.steps[at] === step ? line.values[at]! : null;
    }),
  ]);
  return { rows, numAll: steps.length };
}
