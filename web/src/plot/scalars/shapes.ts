/** The shapes of a chart, drawn with any pen: a canvas, or the text of an SVG path. */
import * as lines from "../lines";
import { type Scale, shareOf } from "../scale";
import type { Curve } from "./curve";
import type { Line, Model } from "./model";

/** The part of a picture in which values stand. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface Frame {
  readonly box: Box;
  readonly x: Scale;
  readonly y: Scale;
}

export function placeX({ box, x }: Frame, value: number): number {
  return box.left + box.width * shareOf(x, value);
}

export function placeY({ box, y }: Frame, value: number): number {
  return box.top + box.height * (1 - shareOf(y, value));
}

/** Far outside, numbers become too large for a canvas; nothing is seen there anyway. */
const FAR = 1e5;

function kept(place: number): number {
  return Math.max(-FAR, Math.min(FAR, place));
}

export function traceLine(frame: Frame, curve: Curve, values: Float64Array, pen: Pick<lines.Pen, "moveTo" | "lineTo">): void {
  lines.traceLine(curve.x, values, (x) => placeX(frame, x), (y) => placeY(frame, y), pen, ...seen(frame, curve));
}

/** The values that are marked: all of a line that has its points marked, otherwise those that stand alone. */
export function dotPlaces(frame: Frame, line: Marked): [x: number, y: number][] {
  return line.hasDots ? seenPlaces(frame, line.curve, line.smoothed, true) : lonePlaces(frame, line.curve, line.smoothed);
}

interface Marked {
  readonly curve: Curve;
  readonly smoothed: Float64Array;
  readonly hasDots: boolean;
}

/** The values that have no finite neighbour, in pixels, as far as they are seen. */
export function lonePlaces(frame: Frame, curve: Curve, values: Float64Array): [x: number, y: number][] {
  return seenPlaces(frame, curve, values, false);
}

function seenPlaces(frame: Frame, curve: Curve, values: Float64Array, isAll: boolean): [x: number, y: number][] {
  const [first, end] = seen(frame, curve);
  const { left, top, width, height } = frame.box;
  const isDrawn = (at: number): boolean =>
    at >= 0 && at < curve.size && Number.isFinite(placeX(frame, curve.x[at]!) + placeY(frame, values[at]!));
  const places: [number, number][] = [];
  for (let at = first; at < end; at++) {
    if (!isDrawn(at) || (!isAll && (isDrawn(at - 1) || isDrawn(at + 1)))) continue;
    const [x, y] = [placeX(frame, curve.x[at]!), placeY(frame, values[at]!)];
    const isInside = x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1;
    if (isInside) places.push([x, y]);
  }
  return places;
}

const DOT_RADIUS = 3;
const DOT_ROOM = 8;

/** Smaller where they would grow together. */
export function dotRadius(numDots: number, { box }: Frame): number {
  return numDots <= box.width / DOT_ROOM ? DOT_RADIUS : DOT_RADIUS / 2;
}

/** From the lowest to the highest of each bucket, in pieces where there are gaps. */
export function traceBand(frame: Frame, curve: Curve, pen: lines.Pen): void {
  // On a logarithmic axis what goes down to nought goes down to the edge.
  const lowest = frame.y.isLog === true ? frame.y.low : -Infinity;
  const up = (value: number): number => placeY(frame, Math.max(value, lowest));
  lines.traceBand(curve.x, curve.low, curve.high, (x) => placeX(frame, x), up, pen, ...seen(frame, curve));
}

export interface BandColumn {
  readonly x: number;
  width: number;
  top: number;
  bottom: number;
}

/** The same where buckets are narrower than pixels: a rectangle for each column of pixels, up to the next. */
export function bandColumns(frame: Frame, curve: Curve): BandColumn[] {
  const [first, end] = seen(frame, curve);
  const lowest = frame.y.isLog === true ? frame.y.low : -Infinity;
  const columns: BandColumn[] = [];
  let isBroken = false;
  for (let at = first; at < end; at++) {
    const x = Math.floor(placeX(frame, curve.x[at]!));
    const bottom = kept(placeY(frame, Math.max(curve.low[at]!, lowest)));
    const top = kept(placeY(frame, curve.high[at]!));
    if (!Number.isFinite(x + top + bottom)) {
      isBroken = true;
      continue;
    }
    const last = columns.at(-1);
    if (last?.x === x) {
      last.top = Math.min(last.top, top);
      last.bottom = Math.max(last.bottom, bottom);
      continue;
    }
    if (last !== undefined && !isBroken) last.width = x - last.x;
    columns.push({ x, width: 1, top, bottom });
    isBroken = false;
  }
  return columns;
}

/** How many items a line has for each pixel of its width. */
export function densityOf(frame: Frame, curve: Curve): number {
  const [first, end] = seen(frame, curve);
  return (end - first) / frame.box.width;
}

export function traceMargin(frame: Frame, lower: Curve, upper: Curve, pen: lines.Pen): void {
  const points = (curve: Curve): [number, number][] => {
    const found: [number, number][] = [];
    for (let at = 0; at < curve.size; at++) {
      const [x, y] = [placeX(frame, curve.x[at]!), placeY(frame, curve.mean[at]!)];
      if (Number.isFinite(x) && Number.isFinite(y)) found.push([kept(x), kept(y)]);
    }
    return found;
  };
  const ring = [...points(upper), ...points(lower).reverse()];
  ring.forEach(([x, y], at) => (at === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  if (ring.length > 0) pen.closePath();
}

/** Where values are NaN or infinite, in pixels, not more than one mark in each few of them. */
export function badPlaces(frame: Frame, curve: Curve, apart: number): number[] {
  const [first, end] = seen(frame, curve);
  const places: number[] = [];
  for (let at = first; at < end; at++) {
    if (curve.bad[at] === 0) continue;
    const x = placeX(frame, curve.x[at]!);
    const isSeen = x >= frame.box.left - 1 && x <= frame.box.left + frame.box.width + 1;
    if (isSeen && x - (places.at(-1) ?? -Infinity) >= apart) places.push(x);
  }
  return places;
}

/** The items between the ends of the axis and one beyond each, to which the line runs on. */
function seen({ x: scale }: Frame, { x }: Curve): [first: number, end: number] {
  let [first, end] = [0, x.length];
  while (first + 1 < end && x[first + 1]! < scale.low) first++;
  while (end - 2 >= first && x[end - 2]! > scale.high) end--;
  return [first, end];
}

// --- Where the parts of a chart stand, in pixels.

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Where the values stand: right of the widest number, above the ticks. */
export function boxOf({ width, height }: Size, labelWidth: number): Box {
  const left = Math.max(28, Math.ceil(labelWidth) + 8);
  const [top, right, bottom] = [7, 12, 20];
  return { left, top, width: Math.max(1, width - left - right), height: Math.max(1, height - top - bottom) };
}

export function frameOf(model: Model, size: Size, measure: (text: string) => number): Frame | null {
  if (model.x === null || model.y === null) return null;
  const labelWidth = Math.max(0, ...model.yTicks.map(({ label }) => measure(label)));
  return { box: boxOf(size, labelWidth), x: model.x, y: model.y };
}

/** The labels under the axis, those that have room: where each begins. */
export function axisLabels(
  model: Model,
  frame: Frame,
  measure: (text: string) => number,
): { label: string; place: number }[] {
  const right = frame.box.left + frame.box.width + 11;
  const placed: { label: string; place: number }[] = [];
  let free = -Infinity;
  for (const { value, label } of model.xTicks) {
    const width = measure(label);
    const place = Math.min(placeX(frame, value) - width / 2, right - width);
    if (place < free) continue;
    placed.push({ label, place });
    free = place + width + 6;
  }
  return placed;
}

/** The last of a line that is seen, in pixels; null where nothing of it is. */
export function lastSeen(line: Line, frame: Frame): readonly [number, number] | null {
  const { curve, smoothed } = line;
  for (let at = curve.size - 1; at >= 0 && curve.x[at]! >= frame.x.low; at--) {
    if (curve.x[at]! > frame.x.high) continue;
    const [x, y] = [placeX(frame, curve.x[at]!), placeY(frame, smoothed[at]!)];
    if (Number.isFinite(x) && Number.isFinite(y)) return [x, y];
  }
  return null;
}

/** Where a line ends, in pixels; null where that is not seen. */
export function endOf(line: Line, frame: Frame): readonly [number, number] | null {
  const at = lines.lastFinite(line.smoothed);
  if (at < 0) return null;
  const [x, y] = [placeX(frame, line.curve.x[at]!), placeY(frame, line.smoothed[at]!)];
  const { left, top, width, height } = frame.box;
  const isSeen = x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1;
  return isSeen ? [x, y] : null;
}

// --- The names of lines at their ends, where several lines of a chart have one colour.

interface PlacedLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

const LINE_HEIGHT = 12;
const MAX_LENGTH = 28;
const LETTER_WIDTH = 6;

/** One for each member, above the end of its longest line, moved apart where they would cover each other. */
export function labelPlaces(model: Model, frame: Frame): PlacedLabel[] {
  const { chart, lines } = model;
  const { top, height, left, width } = frame.box;
  const isRoom = chart.members.length <= height / LINE_HEIGHT;
  if (chart.form !== "lines" || chart.members.length < 2 || !isRoom) return [];
  const placed: PlacedLabel[] = [];
  for (const member of chart.members) {
    const ends = lines.filter((line) => line.member.name === member.name).map((line) => lastSeen(line, frame));
    const seen = ends.filter((end) => end !== null).sort(([a], [b]) => b - a);
    if (seen[0] === undefined) continue;
    const text = member.label.length <= MAX_LENGTH ? member.label : `…${member.label.slice(1 - MAX_LENGTH)}`;
    const [x, y] = seen[0];
    const right = Math.min(left + width, Math.max(x, left + LETTER_WIDTH * text.length));
    placed.push({ text, x: right, y: y - 4 });
  }
  return apart(placed, top + LINE_HEIGHT - 4, top + height - 2);
}

function apart(labels: readonly PlacedLabel[], ceiling: number, floor: number): PlacedLabel[] {
  let free = ceiling;
  const moved = [...labels]
    .sort((a, b) => a.y - b.y)
    .map((label) => {
      const y = Math.max(label.y, free);
      free = y + LINE_HEIGHT;
      return { ...label, y };
    });
  // Those that were pushed out below go up again.
  let lowest = floor;
  for (let at = moved.length - 1; at >= 0; at--) {
    const y = Math.min(moved[at]!.y, lowest);
    moved[at] = { ...moved[at]!, y };
    lowest = y - LINE_HEIGHT;
  }
  return moved;
}

