/** Which values are fetched to be compared or taken along: all of an item, as long as they are not too many. */
import { toCsv } from "../files/csv";
import type { TensorValues } from "../source/source";
import { fullReach, gridOf, indexOf, windowOf } from "../tensor/window";
import type { Window } from "../wire";

/** As torcheer.tensorfile.views: four megabytes at most. */
const MOST_VALUES = 1 << 19;

/** All of an item where it may be had at once; otherwise what the first look had. */
export function largestWindow(shape: readonly number[], item: readonly number[], coarse: Window): Window {
  const { tiles, rows, columns } = gridOf(shape);
  return tiles * rows * columns <= MOST_VALUES
    ? windowOf(fullReach(shape, item))
    : { ...coarse, item: [...item] };
}

/** The shape of a window as an array, with as many dimensions as its tensor has behind the item. */
export function windowShape(shape: readonly number[], window: Window): number[] {
  return [window.num_tiles, window.num_rows, window.num_columns].slice(3 - Math.min(3, shape.length));
}

/** A line for each value: its index, dimension by dimension, and itself. */
export function windowCsv({ view, values }: TensorValues): string {
  const header = [...view.shape.map((_, dim) => `index_${dim}`), "value"];
  return toCsv([header, ...Array.from(values, (value, nth) => [...indexOf(view.shape, view.window, nth), value])]);
}
