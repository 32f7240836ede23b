/** A matrix of items as pixels, and where labels begin in it. */
import type { Scale } from "../tensor/colour";
import { paintNumber, type NumberInks } from "./colours";
import type { Items } from "./items";

/** How alike the items of one layer are: rows and columns are `places`. */
export interface Matrix {
  readonly places: readonly number[];
  readonly values: Float32Array;
}

/** Rows of the matrix in the order of these items; those that it has not are left out. */
export function rowsOf({ places }: Pick<Matrix, "places">, wanted: readonly number[]): number[] {
  const rows = new Map(places.map((place, row) => [place, row]));
  return wanted.map((place) => rows.get(place)).filter((row) => row !== undefined);
}

export function paintMatrix({ places, values }: Matrix, rows: readonly number[], scale: Scale, inks: NumberInks): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * rows.length ** 2);
  for (const [down, row] of rows.entries()) {
    for (const [across, column] of rows.entries()) {
      const value = values[row * places.length + column]!;
      paintNumber(pixels, 4 * (down * rows.length + across), value, scale, inks);
    }
  }
  return pixels;
}

/** Without the diagonal: there every item is like itself. */
export function* pairsOf({ places, values }: Matrix): Generator<number> {
  for (let row = 0; row < places.length; row++) {
    for (let column = 0; column < row; column++) yield values[row * places.length + column]!;
  }
}

export interface Stretch {
  /** Undefined where there are no labels. */
  readonly label: number | undefined;
  readonly from: number;
  readonly count: number;
}

/** Neighbours with the same label. */
export function stretchesOf(order: readonly number[], { label_of: labels }: Pick<Items, "label_of">): Stretch[] {
  const found: { label: number | undefined; from: number; count: number }[] = [];
  for (const [at, place] of order.entries()) {
    const label = labels[place];
    const last = found.at(-1);
    if (last !== undefined && last.label === label) last.count += 1;
    else found.push({ label, from: at, count: 1 });
  }
  return found;
}
