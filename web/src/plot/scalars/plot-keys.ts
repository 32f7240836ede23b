/** The keys of a chart that has the focus. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { formatValue } from "../../data/format";
import { movedByKey } from "../../data/time-steps";
import { keysShown, usePageKeys } from "../../ui/keys";
import { nearest } from "../lines";
import { type Scale, shareOf, valueAtShare } from "../scale";
import type { Span } from "../ticks";
import { describePlace, type Model, readingsAt } from "./model";
import { options, setOptions, setSoon, settleOptions } from "./options";
import { followOptions } from "./series-feed";
import { cursor, spoken } from "./state";

const closer = (model: Model): void => zoomBy(model, 2);
const further = (model: Model): void => zoomBy(model, 1 / 2);

/** False where it means nothing now. */
const ACTIONS: Readonly<Record<string, (model: Model) => unknown>> = {
  "+": closer,
  "=": closer,
  "-": further,
  "\u2212": further,
  "0": resetZoom,
  Enter: ({ chart }) => toggleEnlarged(chart.key),
  Escape: leave,
};

export function handlePlotKey(event: KeyboardEvent, model: Model): boolean {
  const action = ACTIONS[event.key];
  return action === undefined ? moveCursor(event, model) : action(model) !== false;
}

/** What a page with charts begins, and ends when it goes. Esc shows the whole axis and all charts where nothing has the focus. */
export function useCharts(): void {
  useEffect(() => {
    const stop = followOptions();
    return () => {
      settleOptions();
      stop();
    };
  }, []);
  // As it goes, not after the next paint: by then the next charts may be there, and pointed at.
  useLayoutEffect(() => () => (cursor.value = null), []);
  const isFree = (event: KeyboardEvent): boolean => !keysShown.peek() && event.target === document.body;
  usePageKeys((event) => event.key === "Escape" && isFree(event) && leaveView(), true);
}

/** One thing after the other: the zoom, the size. False where there is neither. */
export function leaveView(): boolean {
  const { zoom, enlarged } = options.peek();
  if (zoom !== null) resetZoom();
  else if (enlarged !== "") toggleEnlarged(enlarged);
  else return false;
  return true;
}

function leave(): boolean {
  if (leaveView()) return true;
  const hadCursor = cursor.peek() !== null;
  cursor.value = null;
  return hadCursor;
}

/** The places of the line with the most items, as far as they are seen. */
function places({ lines, x }: Model): Float64Array {
  let most = new Float64Array(0);
  for (const { curve } of lines) if (curve.size > most.length) most = new Float64Array(curve.x);
  return x === null ? most : most.filter((place) => place >= x.low && place <= x.high);
}

function moveCursor(event: KeyboardEvent, model: Model): boolean {
  const all = places(model);
  const now = cursor.peek();
  // Without a cursor, the first key puts it at the last value.
  const next = movedByKey(event, now === null ? all.length : nearest(all, now.x), all.length);
  if (next === null) return false;
  if (all.length === 0) return true;
  const x = all[next]!;
  cursor.value = { x, chart: model.chart.key };
  const values = readingsAt(model, x).map(({ line, value, smoothed }) => {
    const drawn = smoothed === null ? "" : `, smoothed ${formatValue(smoothed)}`;
    return `${line.label} ${formatValue(value)}${drawn}`;
  });
  spoken.value = `${describePlace(x, model.axis, model.perEpoch)}: ${values.join("; ")}`;
  return true;
}

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
