/** The axis of values of a small chart: from where to where, straight or logarithmic. */
import { niceSpan, type Span } from "../charting/numberticks";

export interface ValueAxis extends Span {
  readonly isLog: boolean;
}

interface Choice {
  readonly isShare: boolean;
  readonly mayBeLog: boolean;
}

/** Sizes further apart than this are shown by their powers of ten. */
const WIDE = 30;

export function limitsOf(columns: readonly Float32Array[], { isShare, mayBeLog }: Choice): ValueAxis {
  let [low, high, positive] = [Infinity, -Infinity, Infinity];
  for (const values of columns) {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
      if (value > 0) positive = Math.min(positive, value);
    }
  }
  if (low > high) return { low: 0, high: 1, isLog: false };
  if (isShare) return { low: 0, high: high > 0.5 ? 1 : Math.max(0.01, high * 1.1), isLog: false };
  if (mayBeLog && low >= 0 && high > WIDE * positive) return { low: positive, high, isLog: true };
  return { ...niceSpan(roomy(low, high, mayBeLog)), isLog: false };
}

function roomy(low: number, high: number, isSize: boolean): Span {
  if (low === high) {
    const room = low === 0 ? 1 : Math.abs(low) / 10;
    return { low: low - room, high: high + room };
  }
  // A size is never below nought, and nought is near.
  return { low: isSize && low < high / 2 ? 0 : low, high };
}

/** From 0 to 1; what lies outside, outside. Of a logarithmic axis, nought is its lower end. */
export function placeValue({ low, high, isLog }: ValueAxis, value: number): number {
  if (!isLog) return (value - low) / (high - low);
  return value <= low ? 0 : Math.log(value / low) / Math.log(high / low);
}
