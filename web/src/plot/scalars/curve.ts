/** A series along an axis: what is known of all of it, and in finer grain where somebody looks closer. */
import type { Axis } from "./options";
import { COLUMNS, type Columns, emptyColumns, type SeriesData } from "./series-feed";

/** Items in the order of `x`. */
export interface Curve extends Columns {
  readonly size: number;
  readonly x: Float64Array;
  readonly hasBuckets: boolean;
  /** Of the whole series. */
  readonly numPoints: number;
}

type Items = Columns & { readonly x: Float64Array };

interface Place {
  readonly items: Items;
  readonly at: number;
  readonly x: number;
}

const EMPTY: Curve = {
  ...emptyColumns(0),
  size: 0,
  x: new Float64Array(0),
  hasBuckets: false,
  numPoints: 0,
};

/** The items of the finer data where it has any, and those of the other before and after. */
export function curveOf(whole: SeriesData | null, finer: SeriesData | null, axis: Axis): Curve {
  // Before an answer for another axis is there, a window in its unit says nothing.
  const inside = finer !== null && finer.size > 0 && finer.asked.axis === axis ? finer : null;
  if (whole === null || whole.size === 0) return inside === null ? EMPTY : plain(inside, axis);
  if (inside === null) return plain(whole, axis);
  const { low, high } = inside.asked;
  if (low === null || high === null) return plain(inside, axis);
  const isWithin = (x: number): boolean => x >= low && x <= high;
  const [around, within] = [plain(whole, axis), plain(inside, axis)];
  const places = [
    ...placesOf(around).filter(({ x }) => !isWithin(x)),
    // New points come whatever the window is.
    ...placesOf(within).filter(({ x }) => isWithin(x)),
  ];
  return { ...gather(places), hasBuckets: around.hasBuckets || within.hasBuckets, numPoints: whole.numPoints };
}

function plain(data: SeriesData, axis: Axis): Curve {
  const columns = Object.fromEntries(COLUMNS.map((name) => [name, data.column(name)])) as unknown as Columns;
  const known: Items = { ...columns, x: alongAxis(data, axis) };
  const { hasBuckets, numPoints, size } = data;
  return { ...(isRising(known.x) ? known : gather(placesOf(known))), size, hasBuckets, numPoints };
}

function alongAxis(data: SeriesData, axis: Axis): Float64Array {
  if (axis === "step") return data.column("step");
  const times = data.column("time");
  return axis === "time" ? times : times.map((time) => time - data.started);
}

function isRising(x: Float64Array): boolean {
  for (let at = 1; at < x.length; at++) if (x[at]! < x[at - 1]!) return false;
  return true;
}

function placesOf(items: Items): Place[] {
  return Array.from(items.x, (x, at) => ({ items, at, x }));
}

/** In the order of the axis; those of one place in the order in which they came. */
function gather(places: Place[]): Items & { size: number } {
  places.sort((a, b) => a.x - b.x);
  const columns = emptyColumns(places.length);
  for (const name of COLUMNS) places.forEach(({ items, at }, index) => (columns[name][index] = items[name][at]!));
  return { ...columns, x: Float64Array.from(places, ({ x }) => x), size: places.length };
}

/**
 * The average after each item, with the weight that it lacks at the beginning made good. A bucket counts as all
 * of its finite points, each with the mean of the bucket. Values that are not finite are gaps and change nothing.
 */
export function smooth(
  means: ArrayLike<number>,
  counts: ArrayLike<number>,
  bad: ArrayLike<number>,
  weight: number,
): Float64Array {
  const smoothed = new Float64Array(means.length);
  let [average, total] = [0, 0];
  for (let at = 0; at < means.length; at++) {
    const value = means[at]!;
    if (!Number.isFinite(value)) {
      smoothed[at] = NaN;
      continue;
    }
    // Of n points of one value, what was there before keeps weight ** n.
    const kept = weight ** Math.max(1, counts[at]! - bad[at]!);
    average = kept * average + (1 - kept) * value;
    total = kept * total + (1 - kept);
    smoothed[at] = average / total;
  }
  return smoothed;
}
