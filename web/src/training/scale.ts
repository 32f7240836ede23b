/** From values to places along an axis and back. */
import type { Span } from "./options";

export interface Scale extends Span {
  readonly isLog: boolean;
}

/** The share of the way from the low end to the high end; NaN for what a logarithmic axis cannot show. */
export function shareOf(scale: Scale, value: number): number {
  const { low, high, isLog } = scale;
  if (!isLog) return (value - low) / (high - low);
  return value > 0 ? Math.log(value / low) / Math.log(high / low) : NaN;
}

export function valueAtShare(scale: Scale, share: number): number {
  const { low, high, isLog } = scale;
  return isLog ? low * (high / low) ** share : low + share * (high - low);
}

/** The part between two shares, around what stays in place where they are equally far from it. */
export function zoomed(scale: Scale, from: number, to: number): Span {
  return { low: valueAtShare(scale, from), high: valueAtShare(scale, to) };
}
