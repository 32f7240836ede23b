/** The numbers of a tensor as they came, and where in the tensor each of them stands. */
import { obtain } from "../../data/collections";
import { formatValue, gridFormat } from "../../data/format";
import type { Scale } from "../../ui/colour-scale";
import type { BackwardStep, Cells } from "../../wire";
import { isScaleShared, limits } from "./store";

const known = new WeakMap<Cells, readonly number[]>();

/** All of them as numbers: what JSON has no number for comes as text. */
export function numbersOf(cells: Cells): readonly number[] {
  return obtain(known, cells, () => cells.values.map(numberOf));
}

function numberOf(value: number | string): number {
  if (typeof value === "number") return value;
  if (value === "inf") return Infinity;
  return value === "-inf" ? -Infinity : NaN;
}

/** The index in the tensor of the n-th of the numbers that are here; empty for a scalar. */
export function indexOf({ shape, num_columns }: Cells, nth: number): number[] {
  if (shape.length === 0) return [];
  const columns = Math.max(1, num_columns);
  const index = [nth % columns];
  let rest = Math.floor(nth / columns);
  for (const size of shape.slice(0, -1).toReversed()) {
    index.unshift(rest % Math.max(1, size));
    rest = Math.floor(rest / Math.max(1, size));
  }
  return index;
}

/** The other way round: which of the numbers has this index; null where it was cut off. */
export function placeOf({ shape, num_rows, num_columns }: Cells, index: readonly number[]): number | null {
  if (shape.length === 0) return 0;
  const row = shape.slice(0, -1).reduce((place, size, dim) => place * size + (index[dim] ?? 0), 0);
  const column = index.at(-1) ?? 0;
  return row < num_rows && column < num_columns ? row * num_columns + column : null;
}

/** `W1[2, 1]`; a scalar is its name. */
export function elementName(name: string, cells: Cells, nth: number): string {
  const index = indexOf(cells, nth);
  return index.length === 0 ? name : `${name}[${index.join(", ")}]`;
}

/** The largest of all, whatever its sign, and never nothing: a scale has an extent. */
export function limitOf(all: Iterable<Cells>): number {
  let limit = 0;
  for (const cells of all) {
    for (const value of numbersOf(cells)) if (Number.isFinite(value)) limit = Math.max(limit, Math.abs(value));
  }
  return limit === 0 ? 1 : limit;
}

/** Most tensors keep within the limit; the few that are much larger than these do not set it. */
const MOST = 0.75;
const MUCH = 2;

export function sharedLimit(all: readonly Cells[]): number {
  const each = all.map((cells) => limitOf([cells])).sort(byValue);
  const usual = each[Math.max(0, Math.ceil(MOST * each.length) - 1)] ?? 1;
  return Math.min(each.at(-1) ?? 1, MUCH * usual);
}

/** The place of what is largest: it shows most. */
export function largestAt(cells: Cells): number {
  let best = 0;
  const numbers = numbersOf(cells);
  for (const [at, value] of numbers.entries()) {
    if (Math.abs(value) > Math.abs(numbers[best]!)) best = at;
  }
  return best;
}

export function sizeOf({ shape }: Pick<Cells, "shape">): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function haveSameNumbers(one: Cells, other: Cells): boolean {
  if (one.values.length !== other.values.length) return false;
  const [a, b] = [[...numbersOf(one)].sort(byValue), [...numbersOf(other)].sort(byValue)];
  return a.every((value, at) => Object.is(value, b[at]) || value === b[at]);
}

function byValue(one: number, other: number): number {
  return one - other;
}

/** `own`: a tensor that stands for itself, up to its own largest. */
export type Ink = "value" | "gradient" | "own";

export function scaleFor(cells: Cells, ink: Ink): Scale {
  const limit = isScaleShared.value && ink !== "own" ? limits.value[ink] : limitOf([cells]);
  return { map: "div", low: -limit, high: limit };
}

/** A factor is a gradient where it is what arrived, in whatever form; else it is made of values. */
export function inkOf(step: BackwardStep, factor: Cells): Ink {
  return haveSameNumbers(factor, step.upstream) ? "gradient" : "value";
}

/** As many signs have room in a cell: a sign, a point and four digits. */
const CELL_SIGNS = 6;

type Format = (value: number) => string;

/** All numbers of one grid, with two decimals where they fit. */
export function cellFormat(numbers: readonly number[]): Format {
  const finite = numbers.filter(Number.isFinite);
  const limit = Math.max(0, ...finite.map(Math.abs));
  if (limit !== 0 && (limit < 0.01 || limit >= 1000)) return gridFormat(numbers, (text) => text.length <= CELL_SIGNS);
  const decimals = limit >= 100 ? 1 : limit < 0.1 ? 3 : 2;
  return (value) => (Number.isFinite(value) ? minus(value.toFixed(decimals)) : formatValue(value));
}

/** With true minus, and without one where only noughts are left. */
function minus(text: string): string {
  return text.replace(/^-(0(\.0*)?)$/, "$1").replace("-", "\u2212");
}

/** In a calculation: five digits without noughts at their end, and a minus in brackets where it follows a sign. */
export function factorText(value: number, isFirst = true): string {
  const text = formatValue(value, 5).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return !isFirst && value < 0 ? `(${text})` : text;
}

/** What comes out: five digits. */
export const resultText: Format = (value) => formatValue(value, 5);

/** For comparing: six decimals, or an exponent where they would say nothing. */
export const checkText: Format = (value) => decimalText(value, 6);

export function decimalText(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || (size !== 0 && (size < 100 * 10 ** -decimals || size >= 1e5))) {
    return formatValue(value, decimals + 1);
  }
  return minus(value.toFixed(decimals));
}

/** `6.0e−8`; nought is nought. */
export function errorText(error: number): string {
  if (error === 0) return "0";
  return Number.isFinite(error) ? exponential(error, 1) : formatValue(error);
}

/** `1e−6`. */
export const toleranceText: Format = (tolerance) => exponential(tolerance, 0);

function exponential(value: number, decimals: number): string {
  return value.toExponential(decimals).replace("-", "\u2212").replace("+", "");
}
