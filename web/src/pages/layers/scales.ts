/** From a figure to its colour: which ramp, between which limits, straight or logarithmic. */
import { autoScale, type Scale } from "../../ui/colour-scale";
import { numBuckets, type WatchedGrid } from "./grid";
import type { FigureKind } from "./rows";

/** What is known of values: the finite ones. */
export interface Extent {
  readonly low: number;
  readonly high: number;
  /** The least above nought; null where there is none. */
  readonly leastPositive: number | null;
}

export type LogChoice = "auto" | "log" | "linear";

/** Sizes further apart than this are shown by their powers of ten. */
const WIDE = 30;
/** Less than this share of the largest is as good as nothing: it would take all colours for itself. */
const LEAST_SHARE = 1e-12;

/** More values than this are looked at in a sample. */
const MOST_LOOKED_AT = 20_000;
/** So many of the sizes, at either end, may lie outside: a single one would take all colours for itself. */
const OUTSIDE = 0.02;

/** Of all rows together, whose values stand in lines of this width. */
export function extentOf(values: Float32Array, width: number, rows: readonly number[], isCut: boolean): Extent | null {
  const every = Math.max(1, Math.ceil((rows.length * width) / MOST_LOOKED_AT));
  const found: number[] = [];
  let [low, high, positive] = [Infinity, -Infinity, Infinity];
  for (const row of rows) {
    for (const [at, value] of values.subarray(row * width, (row + 1) * width).entries()) {
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
      if (value > 0) positive = Math.min(positive, value);
      if ((row + at) % every === 0) found.push(value);
    }
  }
  if (low > high) return null;
  const whole = { low, high, leastPositive: positive === Infinity ? null : positive };
  return isCut && found.length > 0 ? cut(whole, found) : whole;
}

/** Without the few at either end, where enough is left between them. */
function cut(whole: Extent, values: number[]): Extent {
  values.sort((a, b) => a - b);
  const end = Math.floor(OUTSIDE * values.length);
  const [low, high] = [values[end]!, values[values.length - 1 - end]!];
  if (!(high > low)) return whole;
  const positives = values.filter((value) => value > 0);
  const least = positives[Math.floor(OUTSIDE * positives.length)] ?? whole.leastPositive;
  return { low, high, leastPositive: least };
}

export interface Wish {
  readonly log: LogChoice;
  /** Fixed by hand; null is automatic. */
  readonly limits: readonly [low: number, high: number] | null;
}

export function scaleFor(kind: FigureKind, extent: Extent | null, { log, limits }: Wish): Scale {
  const plain = plainScale(kind, extent);
  if (limits !== null) return fixedScale(kind, limits, log);
  if (extent === null || extent.low < 0 || extent.leastPositive === null) return plain;
  const least = Math.max(extent.leastPositive, extent.high * LEAST_SHARE);
  const isWide = extent.high / least > WIDE;
  const isWanted = log === "log" || (log === "auto" && kind === "size" && isWide);
  return isWanted && extent.high > least ? { map: "seq", low: least, high: extent.high, isLog: true } : plain;
}

function plainScale(kind: FigureKind, extent: Extent | null): Scale {
  if (extent === null) return { map: "seq", low: 0, high: 1 };
  // A share of next to nothing is no full colour, but little of something is not nothing either.
  if (kind === "share") return { map: "seq", low: 0, high: extent.high > 0 ? extent.high : 1 };
  return autoScale({ min: extent.low, max: extent.high });
}

function fixedScale(kind: FigureKind, [low, high]: readonly [number, number], log: LogChoice): Scale {
  const isLog = low > 0 && high > low && (log === "log" || (log === "auto" && kind === "size" && high / low > WIDE));
  return { map: low < 0 && high > 0 ? "div" : "seq", low, high, isLog };
}

/** The scale of each row, by its place: rows that stand in one list share theirs. */
export function scalesOf(
  grid: WatchedGrid,
  kind: FigureKind,
  sharing: readonly (readonly number[])[],
  wish: Wish,
): ReadonlyMap<number, Scale> {
  const width = numBuckets(grid);
  const found = new Map<number, Scale>();
  for (const rows of sharing) {
    // Of a share, the few that are high are what matters.
    const scale = scaleFor(kind, extentOf(grid.values, width, rows, kind !== "share"), wish);
    for (const row of rows) found.set(row, scale);
  }
  return found;
}
