/** From a figure to its colour: which ramp, between which limits, straight or logarithmic. */
import { extentOf as spanOf } from "../../plot/scale";
import { autoScale, type Scale } from "../../ui/colour-scale";
import type { FigureKind, WatchedGrid } from "./watched";

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

const MOST_LOOKED_AT = 20_000;
/** So many of the sizes, at either end, may lie outside: a single one would take all colours for itself. */
const OUTSIDE = 0.02;

/** Of all rows together, whose values stand in lines of this width. */
export function extentOf(values: Float32Array, width: number, rows: readonly number[], isCut: boolean): Extent | null {
  const columns = rows.map((row) => values.subarray(row * width, (row + 1) * width));
  const span = spanOf(columns);
  if (span === null) return null;
  const whole = { ...span, leastPositive: spanOf(columns, true)?.low ?? null };
  return isCut ? cut(whole, sampleOf(columns, rows)) : whole;
}

function sampleOf(columns: readonly Float32Array[], rows: readonly number[]): Float32Array {
  const every = Math.max(1, Math.ceil((rows.length * (columns[0]?.length ?? 0)) / MOST_LOOKED_AT));
  const found: number[] = [];
  for (const [nth, column] of columns.entries()) {
    // Not the same buckets of each row.
    for (let at = (every - (rows[nth]! % every)) % every; at < column.length; at += every) {
      if (Number.isFinite(column[at])) found.push(column[at]!);
    }
  }
  return Float32Array.from(found).sort();
}

/** Without the few at either end, where enough is left between them. */
function cut(whole: Extent, sorted: Float32Array): Extent {
  const end = Math.floor(OUTSIDE * sorted.length);
  const [low, high] = [sorted[end] ?? 0, sorted[sorted.length - 1 - end] ?? 0];
  if (!(high > low)) return whole;
  const positives = sorted.filter((value) => value > 0);
  return { low, high, leastPositive: positives[Math.floor(OUTSIDE * positives.length)] ?? whole.leastPositive };
}

export interface Wish {
  readonly log: LogChoice;
  /** Fixed by hand; null is automatic. */
  readonly limits: readonly [low: number, high: number] | null;
}

export function scaleFor(kind: FigureKind, extent: Extent | null, { log, limits }: Wish): Scale {
  const isLog = (low: number, high: number): boolean =>
    low > 0 && high > low && (log === "log" || (log === "auto" && kind === "size" && high / low > WIDE));
  if (limits !== null) {
    const [low, high] = limits;
    return { map: low < 0 && high > 0 ? "div" : "seq", low, high, isLog: isLog(low, high) };
  }
  if (extent === null) return { map: "seq", low: 0, high: 1 };
  const { low, high, leastPositive } = extent;
  const least = low < 0 || leastPositive === null ? 0 : Math.max(leastPositive, high * LEAST_SHARE);
  if (isLog(least, high)) return { map: "seq", low: least, high, isLog: true };
  // A share of next to nothing is no full colour, but little of something is not nothing either.
  if (kind === "share") return { map: "seq", low: 0, high: high > 0 ? high : 1 };
  return autoScale({ min: low, max: high });
}

/** The scale of each row, by its place: rows that stand in one list share theirs. */
export function scalesOf(
  { values, first_steps: { length: width } }: WatchedGrid,
  kind: FigureKind,
  sharing: readonly (readonly number[])[],
  wish: Wish,
): ReadonlyMap<number, Scale> {
  // Of a share, the few that are high are what matters.
  const scaleOf = (rows: readonly number[]): Scale => scaleFor(kind, extentOf(values, width, rows, kind !== "share"), wish);
  return new Map(
    sharing.flatMap((rows) => {
      const scale = scaleOf(rows);
      return rows.map((row) => [row, scale] as const);
    }),
  );
}
