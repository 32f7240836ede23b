/** The numbers of a tensor as they came, and where in the tensor each of them stands. */
import type { Cells } from "../wire";

const known = new WeakMap<Cells, readonly number[]>();

/** All of them as numbers: what JSON has no number for comes as text. */
export function numbersOf(cells: Cells): readonly number[] {
  let numbers = known.get(cells);
  if (numbers === undefined) {
    numbers = cells.values.map(numberOf);
    known.set(cells, numbers);
  }
  return numbers;
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
  return [...unravelled(shape.slice(0, -1), Math.floor(nth / columns)), nth % columns];
}

/** The other way round: which of the numbers has this index; null where it was cut off. */
export function placeOf({ shape, num_rows, num_columns }: Cells, index: readonly number[]): number | null {
  if (shape.length === 0) return 0;
  const row = ravelled(shape.slice(0, -1), index.slice(0, -1));
  const column = index.at(-1) ?? 0;
  return row < num_rows && column < num_columns ? row * num_columns + column : null;
}

function unravelled(shape: readonly number[], nth: number): number[] {
  const index: number[] = [];
  let rest = nth;
  for (let dim = shape.length - 1; dim >= 0; dim -= 1) {
    const size = Math.max(1, shape[dim]!);
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

function ravelled(shape: readonly number[], index: readonly number[]): number {
  return shape.reduce((place, size, dim) => place * size + (index[dim] ?? 0), 0);
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

/** A limit for many tensors at once. */
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

/** How many numbers the whole tensor has. */
export function sizeOf({ shape }: Pick<Cells, "shape">): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The same numbers, whatever their order and form? */
export function haveSameNumbers(one: Cells, other: Cells): boolean {
  if (one.values.length !== other.values.length) return false;
  const [a, b] = [[...numbersOf(one)].sort(byValue), [...numbersOf(other)].sort(byValue)];
  return a.every((value, at) => Object.is(value, b[at]) || value === b[at]);
}

function byValue(one: number, other: number): number {
  return one - other;
}
