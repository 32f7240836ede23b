/** From where to where the axes of a chart go. */
import type { Curve } from "./curve";
import type { Limits, Span } from "./options";
import type { Scale } from "./scale";
import { niceSpan } from "../charting/numberticks";

/** What an axis has to hold: the values, and how much each of them weighs where some are left out. */
export interface Drawn {
  readonly curve: Curve;
  readonly smoothed: Float64Array;
}

const OUTLIERS = 0.05;
const LOG_PADDING = 0.04;
const NEAR_NOUGHT = 0.02;

/** From the first to the last of all places; null where there are none. */
export function axisExtent(lines: readonly Float64Array[], isLog: boolean): Span | null {
  let [low, high] = [Infinity, -Infinity];
  for (const places of lines) {
    for (const place of places) {
      if (isLog && place <= 0) continue;
      if (place < low) low = place;
      if (place > high) high = place;
    }
  }
  return low > high ? null : roundedOff(low, high, isLog);
}

function roundedOff(low: number, high: number, isLog: boolean): Span {
  // A single point stands in the middle.
  if (low === high) return isLog ? { low: low / 2, high: high * 2 } : { low: low - 1, high: high + 1 };
  // The mean of the first bucket is a little more than where it begins.
  return { low: !isLog && low > 0 && low < NEAR_NOUGHT * high ? 0 : low, high };
}

/** The vertical axis for what is seen between two places of the horizontal one. */
export function valueScale(
  lines: readonly Drawn[],
  seen: Span,
  isLog: boolean,
  ignoresOutliers: boolean,
  fixed: Limits | undefined,
): Scale | null {
  const found = ignoresOutliers ? middleOf(lines, seen, isLog) : extentOf(lines, seen, isLog);
  const chosen = withLimits(found, fixed, isLog);
  if (chosen === null) return null;
  const room = withRoom(chosen, isLog);
  // The end that is fixed stays where it is.
  return { ...(withLimits(room, fixed, isLog) ?? room), isLog };
}

function withRoom(span: Span, isLog: boolean): Span {
  if (!isLog) return niceSpan(span);
  const room = (span.high / span.low) ** LOG_PADDING;
  return { low: span.low / room, high: span.high * room };
}

function withLimits(found: Span | null, fixed: Limits | undefined, isLog: boolean): Span | null {
  const isUsable = (limit: number | null | undefined): limit is number =>
    limit !== null && limit !== undefined && (!isLog || limit > 0);
  const low = isUsable(fixed?.low) ? fixed.low : found?.low;
  const high = isUsable(fixed?.high) ? fixed.high : found?.high;
  if (low === undefined || high === undefined) return null;
  return low < high ? { low, high } : widened(low, high, isLog);
}

/** Values that are all the same, or limits beyond all values, still need some room. */
function widened(low: number, high: number, isLog: boolean): Span {
  const [least, most] = [Math.min(low, high), Math.max(low, high)];
  if (isLog) return { low: least / 2, high: most * 2 };
  const room = Math.max(Math.abs(least), Math.abs(most)) * 0.1 || 1;
  return { low: least - room, high: most + room };
}

/** The first and one past the last item that are seen. */
function itemsIn({ x }: Curve, { low, high }: Span): [number, number] {
  let [first, end] = [0, x.length];
  while (first < end && x[first]! < low) first++;
  while (end > first && x[end - 1]! > high) end--;
  return [first, end];
}

function extentOf(lines: readonly Drawn[], seen: Span, isLog: boolean): Span | null {
  let [least, most] = [Infinity, -Infinity];
  const add = (value: number): void => {
    if (!Number.isFinite(value) || (isLog && value <= 0)) return;
    if (value < least) least = value;
    if (value > most) most = value;
  };
  for (const { curve, smoothed } of lines) {
    const [first, end] = itemsIn(curve, seen);
    for (let at = first; at < end; at++) {
      add(curve.low[at]!);
      add(curve.high[at]!);
      add(smoothed[at]!);
    }
    // With no item inside, a line from one side to the other may still cross it.
    const crosses = first === end && first > 0 && end < curve.size;
    if (crosses) [smoothed[first - 1]!, smoothed[end]!].forEach(add);
  }
  return least > most ? null : { low: least, high: most };
}

/** From the 5th to the 95th percentile of the points that are seen. */
function middleOf(lines: readonly Drawn[], seen: Span, isLog: boolean): Span | null {
  const values: [value: number, count: number][] = [];
  for (const { curve } of lines) {
    const [first, end] = itemsIn(curve, seen);
    for (let at = first; at < end; at++) {
      const value = curve.mean[at]!;
      if (!Number.isFinite(value) || (isLog && value <= 0)) continue;
      values.push([value, Math.max(1, curve.count[at]! - curve.bad[at]!)]);
    }
  }
  if (values.length === 0) return extentOf(lines, seen, isLog);
  values.sort(([a], [b]) => a - b);
  const total = values.reduce((sum, [, count]) => sum + count, 0);
  return { low: percentile(values, OUTLIERS * total), high: percentile(values, (1 - OUTLIERS) * total) };
}

/** The value up to which so many of the points go. */
function percentile(values: readonly (readonly [number, number])[], rank: number): number {
  let passed = 0;
  for (const [value, count] of values) {
    passed += count;
    if (passed >= rank) return value;
  }
  return values.at(-1)![0];
}
