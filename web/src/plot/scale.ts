/** From values to places along an axis and back, and from where to where an axis goes. */
import { labelled, linearTicks, logTicks, type Span, type Tick } from "./ticks";

export interface Scale extends Span {
  readonly isLog?: boolean;
}

/** The share of the way from the low end to the high end; NaN for what a logarithmic axis cannot show. */
export function shareOf(scale: Scale, value: number): number {
  const { low, high, isLog } = scale;
  if (isLog === true && !(value > 0)) return NaN;
  if (low === high) return 0.5;
  return isLog === true ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

export function valueAtShare(scale: Scale, share: number): number {
  const { low, high, isLog } = scale;
  return isLog === true ? low * (high / low) ** share : low + share * (high - low);
}

/** The least and the greatest of all finite values; null where there are none. A logarithmic axis has none below nought. */
export function extentOf(columns: Iterable<ArrayLike<number>>, isLog = false): Span | null {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns) {
    for (let at = 0; at < column.length; at++) {
      const value = column[at]!;
      if (!Number.isFinite(value) || (isLog && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? null : { low, high };
}

/** Values nearer to each other than this share of them differ by rounding: that is no course. */
const ROUNDING = 1e-6;

/** Never empty, and down to zero where that is not far. */
export function roomy({ low, high }: Span): Span {
  // Nought all along is the lower end: it may be a share or a count.
  if (low === 0 && high === 0) return { low: 0, high: 1 };
  if (low === high || high - low < ROUNDING * Math.max(Math.abs(low), Math.abs(high))) {
    const [middle, room] = [low / 2 + high / 2, Math.max(0.1 * Math.abs(low), Number.MIN_VALUE)];
    return { low: middle - room, high: middle + room };
  }
  if (low > 0 && low < 0.5 * high) return { low: 0, high };
  return high < 0 && high > 0.5 * low ? { low, high: 0 } : { low, high };
}

// --- An axis: a scale with the numbers that stand at it.

export interface Axis extends Scale {
  readonly ticks: readonly Tick[];
}

/** Round numbers, or powers of ten. */
export function axisOf(scale: Scale, most?: number): Axis {
  return { ...scale, ticks: labelled(scale.isLog === true ? logTicks(scale) : linearTicks(scale, most)) };
}

export function shareAxis(span: Span, most?: number): Axis {
  return { ...span, ticks: labelled(linearTicks(span, most), "%", 100) };
}

/** Whole numbers only: there is nothing between two steps. */
export function stepAxis(span: Span, most: number): Axis {
  return { ...span, ticks: labelled(linearTicks(span, most).filter(Number.isInteger)) };
}
