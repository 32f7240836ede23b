/** Ways to look at a part of the axis, which all charts share. */
import { type Scale, shareOf, valueAtShare } from "../scale";
import type { Model } from "./model";
import { options, setOptions, setSoon, type Span } from "./options";
import { cursor } from "./state";

/** The part between two shares, around what stays in place where they are equally far from it. */
function zoomed(scale: Scale, from: number, to: number): Span {
  return { low: valueAtShare(scale, from), high: valueAtShare(scale, to) };
}

const FEW_STEPS = 20;

/** Digits that nobody can see are left out, so that the address stays short. */
export function rounded({ low, high }: Span): Span {
  const grain = 10 ** Math.floor(Math.log10((high - low) / 1000));
  const round = (value: number): number =>
    Number((grain < 1 ? Math.round(value / grain) / (1 / grain) : Math.round(value / grain) * grain).toPrecision(15));
  const [from, to] = [round(low), round(high)];
  return from < to ? { low: from, high: to } : { low, high };
}

/** Between whole steps, as far as that makes no difference. */
function tidy(span: Span): Span {
  if (options.peek().axis !== "step" || span.high - span.low < FEW_STEPS) return rounded(span);
  const { low, high } = rounded(span);
  return { low: Math.floor(low), high: Math.ceil(high) };
}

/** Closer by a factor, around the cursor or the middle; a factor below one is further away. */
export function zoomBy(model: Model, factor: number): void {
  const { x, extent } = model;
  if (x === null || extent === null) return;
  const place = cursor.peek()?.x;
  const share = place === undefined ? 0.5 : shareOf(x, place);
  const around = share >= 0 && share <= 1 ? share : 0.5;
  const span = zoomed(x, around - around / factor, around + (1 - around) / factor);
  const isAll = span.low <= extent.low && span.high >= extent.high;
  setSoon({ zoom: isAll ? null : tidy(span) });
}

export function zoomBetween({ x }: Model, from: number, to: number): void {
  if (x === null) return;
  const span = zoomed(x, Math.max(0, Math.min(from, to)), Math.min(1, Math.max(from, to)));
  if (span.low < span.high) setOptions({ zoom: tidy(span) });
}

export function resetZoom(): void {
  if (options.peek().zoom !== null) setOptions({ zoom: null });
}

export function toggleEnlarged(key: string): void {
  setOptions({ enlarged: options.peek().enlarged === key ? "" : key });
}
