/** Draw a chart on a canvas. */
import type { Line, Model } from "./model";
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
const AXIS_TEXT = 11;
/** With so many items in a pixel, corners are not seen. */
const DENSE = 1;
const BAD_APART = 5;

/** What of a canvas charts are drawn with: a file may stand for one. */
export type Canvas = Pick<
  CanvasRenderingContext2D,
  | ("font" | "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "lineCap" | "textAlign" | "textBaseline" | "globalAlpha")
  | ("beginPath" | "moveTo" | "lineTo" | "closePath" | "rect" | "fill" | "stroke" | "fillRect" | "fillText" | "strokeText")
  | ("measureText" | "setLineDash" | "save" | "restore")
> & { arc(x: number, y: number, radius: number, from: number, to: number): void; clip(): void };

export function paintChart(context: Canvas, model: Model, frame: Frame, palette: Palette): void {
  paintAxes(context, model, frame, palette);
  const { box } = frame;
  context.save();
  context.beginPath();
  context.rect(box.left - 1, box.top - 3, box.width + 2, box.height + 6);
  context.clip();
  context.lineJoin = "round";
  context.lineCap = "round";
  const lines = fromBelow(model);
  for (const line of lines.filter(({ isBehind }) => !isBehind)) paintBehind(context, line, frame, runColour(palette, line.run.slot), model);
  for (const line of lines) paintLine(context, line, frame, runColour(palette, line.run.slot), lineWidth(line, model));
  context.restore();
  for (const line of lines) paintDots(context, line, frame, runColour(palette, line.run.slot));
  for (const line of model.lines) paintMarks(context, line, frame, palette);
  paintLabels(context, model, frame, palette);
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

export function axisFont(palette: Palette): string {
  return `${AXIS_TEXT}px ${palette.font}`;
}

function paintAxes(context: Canvas, model: Model, frame: Frame, palette: Palette): void {
  const { box } = frame;
  context.font = axisFont(palette);
  context.fillStyle = palette.text3;
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.strokeStyle = palette.line;
  context.beginPath();
  for (const { value, label } of model.yTicks) {
    const y = placeY(frame, value);
    context.moveTo(box.left, Math.round(y) + 0.5);
    context.lineTo(box.left + box.width, Math.round(y) + 0.5);
    context.fillText(label, box.left - 6, y + 0.5);
  }
  context.stroke();
  context.strokeStyle = palette.line2;
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
  line: Line,
  frame: Frame,
  colour: string,
  { isSmoothed, lines }: Model,
): void {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.globalAlpha = bandOpacity(lines.length);
  // On a logarithmic axis items are dense at one end only.
  const isDense = !frame.x.isLog && densityOf(frame, line.curve) > DENSE;
  if (line.margin === null && line.curve.hasBuckets && isDense) {
    // A shape with so many corners takes a browser without a graphics card as long as all else together.
    for (const { x, width, top, bottom } of bandColumns(frame, line.curve)) {
      context.fillRect(x, top, width, Math.max(1, bottom - top));
    }
  } else {
    context.beginPath();
    if (line.margin !== null) traceMargin(frame, ...line.margin, context);
    else if (line.curve.hasBuckets) traceBand(frame, line.curve, context);
    context.fill();
  }
  if (isSmoothed) {
    context.globalAlpha = RAW_OPACITY;
    context.lineWidth = 1;
    context.setLineDash([]);
    context.beginPath();
    traceLine(frame, line.curve, line.curve.mean, context);
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Beside lines whose points are marked, as means of epochs, one of every trial is thin. */
export function lineWidth(line: Line, { chart, lines }: Pick<Model, "chart" | "lines">): number {
  const isThin = line.isBehind || (chart.form === "keyed" && !line.hasDots && lines.some(({ hasDots }) => hasDots));
  return isThin ? THIN_WIDTH : LINE_WIDTH;
}

function paintLine(context: Canvas, line: Line, frame: Frame, colour: string, width: number): void {
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

function paintMarks(context: Canvas, line: Line, frame: Frame, palette: Palette): void {
  const bottom = frame.box.top + frame.box.height;
  context.fillStyle = palette.danger;
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
  context.strokeStyle = runColour(palette, line.run.slot);
  context.fillStyle = palette.surface;
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
function paintLabels(context: Canvas, model: Model, frame: Frame, palette: Palette): void {
  context.font = axisFont(palette);
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.lineWidth = 3;
  context.strokeStyle = palette.surface;
  context.fillStyle = palette.text2;
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

export function paintOverlay(context: Canvas, overlay: Overlay, { box }: Frame, palette: Palette): void {
  const { cursor, dots, range } = overlay;
  if (range !== null) {
    const [from, to] = [Math.min(...range), Math.max(...range)];
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.14;
    context.fillRect(from, box.top, to - from, box.height);
    context.globalAlpha = 1;
    context.fillRect(from, box.top, 1, box.height);
    context.fillRect(to - 1, box.top, 1, box.height);
  }
  if (cursor === null) return;
  context.strokeStyle = palette.text3;
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  context.beginPath();
  context.moveTo(Math.round(cursor) + 0.5, box.top);
  context.lineTo(Math.round(cursor) + 0.5, box.top + box.height);
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1.5;
  context.strokeStyle = palette.surface;
  for (const { x, y, slot } of dots) {
    context.fillStyle = runColour(palette, slot);
    context.beginPath();
    context.arc(x, y, 3.5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

// --- The colours of the charts, read from the page so that they follow the theme.

export interface Palette {
  readonly surface: string;
  readonly line: string;
  readonly line2: string;
  readonly text: string;
  readonly text2: string;
  readonly text3: string;
  readonly accent: string;
  readonly danger: string;
  /** Of the runs, by their slot from 1 to 8. */
  readonly runs: readonly string[];
  readonly font: string;
}

const NUM_RUN_COLOURS = 8;

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    surface: read("--surface"),
    line: read("--line"),
    line2: read("--line-2"),
    text: read("--text"),
    text2: read("--text-2"),
    text3: read("--text-3"),
    accent: read("--accent"),
    danger: read("--danger"),
    runs: Array.from({ length: NUM_RUN_COLOURS }, (_, at) => read(`--cat-${at + 1}`)),
    font: read("--font") || "sans-serif",
  };
}

export function runColour(palette: Palette, slot: number): string {
  return palette.runs[slot - 1] ?? palette.text3;
}
