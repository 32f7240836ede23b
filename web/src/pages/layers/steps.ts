/** The axis of steps, which map, timeline and charts share: where a step lies, and which bucket is under a place. */
import { linearTicks, type Span } from "../../plot/ticks";

/** Where buckets lie along the steps. What is between two of them that do not touch was not recorded. */
export interface Buckets {
  readonly firstSteps: readonly number[];
  readonly lastSteps: readonly number[];
}

/** A pause so many times as long as those beside it is a hole. */
const HOLE = 4;

/** From where to where each bucket reaches, in steps: halfway to its neighbours, but not over a hole. */
export function bucketSpans({ firstSteps, lastSteps }: Buckets): readonly Span[] {
  const count = firstSteps.length;
  const pauses = Array.from({ length: Math.max(0, count - 1) }, (_, at) => firstSteps[at + 1]! - lastSteps[at]!);
  const usual = (at: number): number => Math.max(1, Math.min(pauses[at] ?? 1, ...around(pauses, at)));
  const reach = (at: number): number => {
    const pause = pauses[at]!;
    const beside = around(pauses, at);
    const isHole = pause > HOLE * Math.max(1, ...beside) && beside.length > 0;
    return (isHole ? Math.max(1, ...beside) : pause) / 2;
  };
  return Array.from({ length: count }, (_, at) => ({
    low: firstSteps[at]! - (at === 0 ? usual(0) / 2 : reach(at - 1)),
    high: lastSteps[at]! + (at === count - 1 ? usual(count - 2) / 2 : reach(at)),
  }));
}

function around(pauses: readonly number[], at: number): number[] {
  return [pauses[at - 1], pauses[at + 1]].filter((pause) => pause !== undefined);
}

/** The bucket that a step is in; the last one before it in a hole between two; -1 outside of all. */
export function bucketAt(spans: readonly Span[], step: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.high >= step) high = middle;
    else low = middle + 1;
  }
  return low < spans.length && spans[low]!.low <= step ? low : -1;
}

/** The bucket nearest to a step; -1 where there are none. */
export function nearestBucket(spans: readonly Span[], step: number): number {
  let best = -1;
  let least = Infinity;
  for (const [at, { low, high }] of spans.entries()) {
    const far = step < low ? low - step : step > high ? step - high : 0;
    if (far < least) [best, least] = [at, far];
    if (far === 0) break;
  }
  return best;
}

/** An axis of so many pixels. */
export interface Axis extends Span {
  readonly width: number;
}

export function placeOf({ low, high, width }: Axis, step: number): number {
  return high > low ? ((step - low) / (high - low)) * width : width / 2;
}

export function stepUnder({ low, high, width }: Axis, place: number): number {
  return low + (place / Math.max(1, width)) * (high - low);
}

/** Which bucket each pixel shows, -1 for none. Every bucket has a pixel, however narrow it is. */
export function pixelBuckets(spans: readonly Span[], axis: Axis): Int32Array {
  const pixels = new Int32Array(Math.max(0, Math.round(axis.width))).fill(-1);
  for (const [at, span] of spans.entries()) {
    const [from, to] = pixelsOf(span, axis);
    // What a neighbour has taken stays with it where both would have a pixel of their own.
    for (let pixel = from; pixel < to; pixel++) if (pixels[pixel] === -1 || pixel > from) pixels[pixel] = at;
  }
  return pixels;
}

/** The pixels of a stretch of steps: the first, and the one after the last. Never none, but outside of the axis. */
export function pixelsOf({ low, high }: Span, axis: Axis): readonly [from: number, to: number] {
  const width = Math.round(axis.width);
  const [left, right] = [placeOf(axis, low), placeOf(axis, high)];
  if (right <= 0 || left >= width) return [0, 0];
  const from = Math.min(width - 1, Math.max(0, Math.round(left)));
  return [from, Math.min(width, Math.max(from + 1, Math.round(right)))];
}

/** Whole steps only: there is nothing between two. */
export function stepTicks({ low, high, width }: Axis, apart = 96): number[] {
  const most = Math.max(3, Math.min(9, Math.floor(width / apart)));
  return linearTicks({ low, high }, most).filter((tick) => Number.isInteger(tick) && tick >= low && tick <= high);
}

/** A part of an axis around a place, so many times as long; null where that would be no part of it. */
export function zoomed(axis: Span, whole: Span, factor: number, around: number): Span | null {
  const size = (axis.high - axis.low) / factor;
  if (size >= whole.high - whole.low) return null;
  const share = (around - axis.low) / Math.max(1e-9, axis.high - axis.low);
  const low = Math.min(whole.high - size, Math.max(whole.low, around - share * size));
  return { low, high: low + size };
}
