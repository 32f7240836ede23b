/** Draw a chart on a canvas. */
import type { Ink } from "../Drawing";
import type { Line, Model } from "./model";
import type { LinePixels } from "./line-pixels";
import {
  axisLabels,
  badPlaces,
  bandColumns,
  densityOf,
  dotPlaces,
  dotRadius,
  endOf,
  type Frame,
  labelPlaces,
  placeY,
  traceBand,
  traceLine,
  traceMargin,
} from "./shapes";

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

function bandOpacity(numLines: number): number {
  return numLines < CROWDED ? BAND_OPACITY : BAND_OPACITY / 2;
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
  pen.globalAlpha = bandOpacity(lines.length);
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
