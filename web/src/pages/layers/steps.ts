/** The axis of steps, which map, timeline and charts share: where a step lies, and which bucket is under a place. */
import { type Axis as Ticked, shareOf, stepAxis, valueAtShare } from "../../plot/scale";
import type { Span } from "../../plot/ticks";

/** Where buckets lie along the steps. What is between two of them that do not touch was not recorded. */
export interface Buckets {
  readonly first_steps: readonly number[];
  readonly last_steps: readonly number[];
}

/** A pause so many times as long as those beside it is a hole. */
const HOLE = 4;

/** From where to where each bucket reaches, in steps: halfway to its neighbours, but not over a hole. */
export function bucketSpans({ first_steps: firstSteps, last_steps: lastSteps }: Buckets): readonly Span[] {
  const count = firstSteps.length;
  const pauses = firstSteps.slice(1).map((first, at) => first - lastSteps[at]!);
  const around = (at: number): number[] => [pauses[at - 1], pauses[at + 1]].filter((pause) => pause !== undefined);
  const usual = (at: number): number => Math.max(1, Math.min(pauses[at] ?? 1, ...around(at)));
  const reach = (at: number): number => {
    const [pause, most] = [pauses[at]!, Math.max(1, ...around(at))];
    const isHole = pause > HOLE * most && around(at).length > 0;
    return (isHole ? most : pause) / 2;
  };
  return firstSteps.map((first, at) => ({
    low: first - (at === 0 ? usual(0) / 2 : reach(at - 1)),
    high: lastSteps[at]! + (at === count - 1 ? usual(count - 2) / 2 : reach(at)),
  }));
}

/** The bucket that a step is in; -1 in a hole between two, and outside of all. */
export function bucketAt(spans: readonly Span[], step: number): number {
  const at = spans.findIndex(({ high }) => step <= high);
  return at >= 0 && spans[at]!.low <= step ? at : -1;
}

/** The bucket nearest to a step, the last one for null; -1 where there are none. */
export function nearestBucket(spans: readonly Span[], step: number | null): number {
  if (step === null) return spans.length - 1;
  const far = spans.map(({ low, high }) => Math.max(0, low - step, step - high));
  return far.indexOf(Math.min(...far));
}

export interface Axis extends Span {
  readonly width: number;
}

export function placeOf(axis: Axis, step: number): number {
  return shareOf(axis, step) * axis.width;
}

export function stepUnder(axis: Axis, place: number): number {
  return valueAtShare(axis, place / Math.max(1, axis.width));
}

/** Which bucket each pixel shows, -1 for none. Every bucket has a pixel, however narrow it is. */
export function pixelBuckets(spans: readonly Span[], axis: Axis): Int32Array {
  const width = Math.max(0, Math.round(axis.width));
  const pixels = new Int32Array(width).fill(-1);
  for (const [at, { low, high }] of spans.entries()) {
    const [left, right] = [placeOf(axis, low), placeOf(axis, high)];
    if (right <= 0 || left >= width) continue;
    const from = Math.min(width - 1, Math.max(0, Math.round(left)));
    const to = Math.min(width, Math.max(from + 1, Math.round(right)));
    // What a neighbour has taken stays with it where both would have a pixel of their own.
    for (let pixel = from; pixel < to; pixel++) if (pixels[pixel] === -1 || pixel > from) pixels[pixel] = at;
  }
  return pixels;
}

/** Numbers so many pixels apart. */
export function stepsAlong({ low, high, width }: Axis, apart = 96): Ticked {
  return stepAxis({ low, high }, Math.max(3, Math.min(9, Math.floor(width / apart))));
}

/** A part of an axis around a place, so many times as long; null where that would be no part of it. */
export function zoomed(axis: Span, whole: Span, factor: number, around: number): Span | null {
  const size = (axis.high - axis.low) / factor;
  if (size >= whole.high - whole.low) return null;
  const share = (around - axis.low) / Math.max(1e-9, axis.high - axis.low);
  const low = Math.min(whole.high - size, Math.max(whole.low, around - share * size));
  return { low, high: low + size };
}
