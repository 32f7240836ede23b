/** Draw a chart on a canvas. */
import type { Ink } from "../Drawing";
import * as lines from "../lines";
import { type Scale, shareOf } from "../scale";
import type { LinePixels } from "./line-pixels";
import { type Curve, itemsIn, type Line, type Model } from "./model";

const LINE_WIDTH = 1.5;
const RAW_OPACITY = 0.28;
const BAND_OPACITY = 0.16;
const BEHIND_OPACITY = 0.3;
const THIN_WIDTH = 1;
/** From the fifth line on, bands cover each other more than they say. */
const CROWDED = 5;
/** With so many items in a pixel, corners are not seen. */
const DENSE = 1;
/** Of all lines together. */
const CROWD = 12;
const BAD_APART = 5;

/** What of a canvas charts are drawn with: a file may stand for one. */
export type Canvas = Pick<
  CanvasRenderingContext2D,
  | ("font" | "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "lineCap" | "textAlign" | "textBaseline" | "globalAlpha")
  | ("beginPath" | "moveTo" | "lineTo" | "closePath" | "rect" | "fill" | "stroke" | "fillRect" | "fillText" | "strokeText")
  | ("measureText" | "setLineDash" | "save" | "restore")
> & { arc(x: number, y: number, radius: number, from: number, to: number): void; clip(): void };

/** What of it lines and bands are drawn with. */
export type LineCanvas = Pick<
  Canvas,
  "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "globalAlpha" | "beginPath" | "moveTo" | "lineTo" | "stroke" | "fillRect" | "setLineDash"
>;

/** `pixels` draws the lines instead where they are many. */
export function paintChart(context: Canvas, model: Model, frame: Frame, ink: Ink, pixels?: LinePixels): void {
  paintAxes(context, model, frame, ink);
  const { box } = frame;
  context.save();
  context.beginPath();
  context.rect(box.left - 1, box.top - 3, box.width + 2, box.height + 6);
  context.clip();
  context.lineJoin = "round";
  context.lineCap = "round";
  const lines = fromBelow(model);
  for (const line of lines.filter(({ isBehind }) => !isBehind)) paintBehind(context, pixels, line, frame, runColour(ink, line.run.slot), model);
  for (const line of lines) paintLine(pixels ?? context, line, frame, runColour(ink, line.run.slot), lineWidth(line, model));
  pixels?.flush();
  context.restore();
  for (const line of lines) paintDots(context, line, frame, runColour(ink, line.run.slot));
  for (const line of model.lines) paintMarks(context, line, frame, ink);
  paintLabels(context, model, frame, ink);
}

/** In which order lines are drawn. Of those with a legend the first one there stands above the others. */
export function fromBelow({ chart, lines }: Pick<Model, "chart" | "lines">): readonly Line[] {
  if (chart.form !== "keyed") return lines;
  const front = lines.filter(({ isBehind }) => !isBehind).reverse();
  return [...lines.filter(({ isBehind }) => isBehind), ...front];
}

function paintAxes(context: Canvas, model: Model, frame: Frame, ink: Ink): void {
  const { box } = frame;
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.strokeStyle = ink.line;
  context.beginPath();
  for (const { value, label } of model.yTicks) {
    const y = placeY(frame, value);
    context.moveTo(box.left, Math.round(y) + 0.5);
    context.lineTo(box.left + box.width, Math.round(y) + 0.5);
    context.fillText(label, box.left - 6, y + 0.5);
  }
  context.stroke();
  context.strokeStyle = ink.edge;
  context.beginPath();
  context.moveTo(box.left, box.top + box.height + 0.5);
  context.lineTo(box.left + box.width, box.top + box.height + 0.5);
  context.stroke();
  context.textBaseline = "alphabetic";
  for (const { label, place } of axisLabels(model, frame, (text) => context.measureText(text).width)) {
    context.textAlign = "left";
    context.fillText(label, place, box.top + box.height + 15);
  }
}

function paintBehind(
  context: Canvas,
  pixels: LinePixels | undefined,
  line: Line,
  frame: Frame,
  colour: string,
  { isSmoothed, lines }: Model,
): void {
  const pen = pixels ?? context;
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.globalAlpha = lines.length < CROWDED ? BAND_OPACITY : BAND_OPACITY / 2;
  // On a logarithmic axis items are dense at one end only.
  const isDense = pixels !== undefined || (!frame.x.isLog && densityOf(frame, line.curve) > DENSE);
  if (line.margin === null && line.curve.hasBuckets && isDense) {
    // A shape with so many corners takes a browser without a graphics card as long as all else together.
    for (const { x, width, top, bottom } of bandColumns(frame, line.curve)) {
      pen.fillRect(x, top, width, Math.max(1, bottom - top));
    }
  } else {
    context.beginPath();
    if (line.margin !== null) traceMargin(frame, ...line.margin, context);
    else if (line.curve.hasBuckets) traceBand(frame, line.curve, context);
    context.fill();
  }
  if (isSmoothed) {
    pen.globalAlpha = RAW_OPACITY;
    pen.lineWidth = 1;
    pen.setLineDash([]);
    pen.beginPath();
    traceLine(frame, line.curve, line.curve.mean, pen);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** Are there more items than a browser without a graphics card draws in time? Margins are shapes, and drawn as such. */
export function isCrowded({ chart, lines }: Model, frame: Frame): boolean {
  const numItems = lines.reduce((sum, { curve }) => sum + curve.size, 0);
  return chart.form !== "margin" && frame.x.isLog !== true && numItems > CROWD * frame.box.width;
}

/** Beside lines whose points are marked, as means of epochs, one of every trial is thin. */
export function lineWidth(line: Line, { chart, lines }: Pick<Model, "chart" | "lines">): number {
  const isThin = line.isBehind || (chart.form === "keyed" && !line.hasDots && lines.some(({ hasDots }) => hasDots));
  return isThin ? THIN_WIDTH : LINE_WIDTH;
}

function paintLine(context: LineCanvas, line: Line, frame: Frame, colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.globalAlpha = line.isBehind ? BEHIND_OPACITY : 1;
  context.setLineDash([...line.dash]);
  context.lineJoin = densityOf(frame, line.curve) > DENSE ? "bevel" : "round";
  context.beginPath();
  traceLine(frame, line.curve, line.smoothed, context);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** Whole ones, also at the edges. */
function paintDots(context: Canvas, line: Line, frame: Frame, colour: string): void {
  if (line.isBehind) return;
  const places = dotPlaces(frame, line);
  const radius = dotRadius(places.length, frame);
  context.fillStyle = colour;
  for (const [x, y] of places) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  }
}

function paintMarks(context: Canvas, line: Line, frame: Frame, ink: Ink): void {
  const bottom = frame.box.top + frame.box.height;
  context.fillStyle = ink.danger;
  context.beginPath();
  for (const x of badPlaces(frame, line.curve, BAD_APART)) {
    context.moveTo(x - 3, bottom + 1);
    context.lineTo(x, bottom - 5);
    context.lineTo(x + 3, bottom + 1);
  }
  context.fill();
  const end = line.run.end === "plain" || line.isBehind ? null : endOf(line, frame);
  if (end === null) return;
  const [x, y] = end;
  context.strokeStyle = runColour(ink, line.run.slot);
  context.fillStyle = ink.surface;
  context.lineWidth = line.run.end === "died" ? 2 : LINE_WIDTH;
  context.beginPath();
  if (line.run.end === "died") {
    context.moveTo(x - 3.5, y - 3.5);
    context.lineTo(x + 3.5, y + 3.5);
    context.moveTo(x + 3.5, y - 3.5);
    context.lineTo(x - 3.5, y + 3.5);
  } else {
    context.arc(x, y, 3.5, 0, 2 * Math.PI);
    context.fill();
  }
  context.stroke();
}

/** Where several lines have one colour, each says at its end what it is. */
function paintLabels(context: Canvas, model: Model, frame: Frame, ink: Ink): void {
  context.font = ink.font;
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.lineWidth = 3;
  context.strokeStyle = ink.surface;
  context.fillStyle = ink.text2;
  for (const { text, x, y } of labelPlaces(model, frame)) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

/** What moves over a chart: the cursor with a dot on each line, or the range that is being drawn. */
export interface Overlay {
  /** In pixels from the left; null where there is none. */
  readonly cursor: number | null;
  readonly dots: readonly { readonly x: number; readonly y: number; readonly slot: number }[];
  readonly range: readonly [from: number, to: number] | null;
}

export function paintOverlay(context: Canvas, overlay: Overlay, { box }: Frame, ink: Ink): void {
  const { cursor, dots, range } = overlay;
  if (range !== null) {
    const [from, to] = [Math.min(...range), Math.max(...range)];
    context.fillStyle = ink.accent;
    context.globalAlpha = 0.14;
    context.fillRect(from, box.top, to - from, box.height);
    context.globalAlpha = 1;
    context.fillRect(from, box.top, 1, box.height);
    context.fillRect(to - 1, box.top, 1, box.height);
  }
  if (cursor === null) return;
  context.strokeStyle = ink.caption;
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  context.beginPath();
  context.moveTo(Math.round(cursor) + 0.5, box.top);
  context.lineTo(Math.round(cursor) + 0.5, box.top + box.height);
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1.5;
  context.strokeStyle = ink.surface;
  for (const { x, y, slot } of dots) {
    context.fillStyle = runColour(ink, slot);
    context.beginPath();
    context.arc(x, y, 3.5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

export function runColour(ink: Ink, slot: number): string {
  return ink.runs[slot] ?? ink.caption;
}

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

/** In pixels. */
type Spot = readonly [x: number, y: number];

function spotOf(frame: Frame, x: number, y: number): Spot {
  return [placeX(frame, x), placeY(frame, y)];
}

/** Also at the edges. */
function isInside({ box: { left, top, width, height } }: Frame, [x, y]: Spot): boolean {
  return x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1;
}

export function traceLine(frame: Frame, curve: Curve, values: Float64Array, pen: Pick<lines.Pen, "moveTo" | "lineTo">): void {
  lines.traceLine(curve.x, values, (x) => placeX(frame, x), (y) => placeY(frame, y), pen, ...seen(frame, curve));
}

/** The values that are marked: all of a line that has its points marked, otherwise those that have no finite neighbour. */
export function dotPlaces(frame: Frame, { curve, smoothed, hasDots }: Pick<Line, "curve" | "smoothed" | "hasDots">): Spot[] {
  const [first, end] = seen(frame, curve);
  const isDrawn = (at: number): boolean =>
    at >= 0 && at < curve.size && Number.isFinite(placeX(frame, curve.x[at]!) + placeY(frame, smoothed[at]!));
  const places: Spot[] = [];
  for (let at = first; at < end; at++) {
    if (!isDrawn(at) || (!hasDots && (isDrawn(at - 1) || isDrawn(at + 1)))) continue;
    const spot = spotOf(frame, curve.x[at]!, smoothed[at]!);
    if (isInside(frame, spot)) places.push(spot);
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
    const bottom = lines.kept(placeY(frame, Math.max(curve.low[at]!, lowest)));
    const top = lines.kept(placeY(frame, curve.high[at]!));
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
  const points = ({ x, mean }: Curve): Spot[] =>
    Array.from(x, (place, at) => spotOf(frame, place, mean[at]!)).filter((spot) => spot.every(Number.isFinite));
  const ring = [...points(upper), ...points(lower).reverse()];
  ring.forEach(([x, y], at) => (at === 0 ? pen.moveTo(lines.kept(x), lines.kept(y)) : pen.lineTo(lines.kept(x), lines.kept(y))));
  if (ring.length > 0) pen.closePath();
}

/** Where values are NaN or infinite, in pixels, not more than one mark in each few of them. */
export function badPlaces(frame: Frame, curve: Curve, apart: number): number[] {
  const [first, end] = seen(frame, curve);
  const places: number[] = [];
  for (let at = first; at < end; at++) {
    if (curve.bad[at] === 0) continue;
    const x = placeX(frame, curve.x[at]!);
    if (isInside(frame, [x, frame.box.top]) && x - (places.at(-1) ?? -Infinity) >= apart) places.push(x);
  }
  return places;
}

/** The items between the ends of the axis and one beyond each, to which the line runs on. */
function seen({ x: scale }: Frame, curve: Curve): [first: number, end: number] {
  const [first, end] = itemsIn(curve, scale);
  return [Math.max(0, first - 1), Math.min(curve.x.length, end + 1)];
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

/** The last of a line that is seen; null where nothing of it is. */
export function lastSeen({ curve, smoothed }: Line, frame: Frame): Spot | null {
  for (let at = curve.size - 1; at >= 0 && curve.x[at]! >= frame.x.low; at--) {
    if (curve.x[at]! > frame.x.high) continue;
    const spot = spotOf(frame, curve.x[at]!, smoothed[at]!);
    if (spot.every(Number.isFinite)) return spot;
  }
  return null;
}

/** Where a line ends; null where that is not seen. */
export function endOf({ curve, smoothed }: Line, frame: Frame): Spot | null {
  const at = lines.lastFinite(smoothed);
  const spot = at < 0 ? null : spotOf(frame, curve.x[at]!, smoothed[at]!);
  return spot !== null && isInside(frame, spot) ? spot : null;
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

