/** Histograms one behind the other, the oldest at the back. */
import { useCallback } from "preact/hooks";
import { formatCount, formatValue } from "../../format";
import type { HistogramGrid } from "../asking";
import type { Ink } from "../drawn";
import { Drawing, type Spot } from "../Drawing";
import { linearTicks } from "../../charting/numberticks";
import { formatTicks, shortNumber } from "../../charting/tickwords";
import { binUnder, countAt, heightScale, labelledRows, pickEvenly } from "./grid";

export const HEIGHT = 224;
const NUM_RIDGES = 17;
const RIGHT = 52;
const LEFT = 4;
const BOTTOM = 20;

/** A row of the grid and a bin. */
export interface Under {
  readonly row: number;
  readonly bin: number;
}

interface Props {
  grid: HistogramGrid;
  isLog: boolean;
  marked: Under | null;
  point: (under: Under | null) => void;
}

export function Ridges({ grid, isLog, marked, point }: Props) {
  const markedRow = marked?.row ?? -1;
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) =>
      paintRidges(context, { width, height }, grid, isLog, markedRow, ink),
    [grid, isLog, markedRow],
  );
  const onPoint = (spot: Spot | null): void => point(spot === null ? null : underSpot(grid, spot));
  const [first, last] = [grid.steps[0] ?? 0, grid.steps.at(-1) ?? 0];
  return (
    <Drawing
      label={
        `Ridges of ${grid.steps.length} histograms from step ${formatCount(first)} to ${formatCount(last)}, ` +
        `values from ${formatValue(grid.low)} to ${formatValue(grid.high)}`
      }
      height={HEIGHT}
      paint={paint}
      onPoint={onPoint}
    />
  );
}

interface Size {
  readonly width: number;
  readonly height: number;
}

interface Placing {
  readonly rows: readonly number[];
  readonly amplitude: number;
  readonly baseline: (nth: number) => number;
}

/** Where the ridges stand: the highest peak of the one at the back still fits. */
function placing(grid: HistogramGrid, height: number): Placing {
  const rows = pickEvenly(grid.steps.length, NUM_RIDGES);
  const room = height - BOTTOM;
  const gaps = Math.max(1, rows.length - 1);
  const amplitude =
    rows.length === 1 ? room - 8 : Math.min(room - 8, Math.max((3.4 * room) / (gaps + 3.4), 24));
  const top = rows.length === 1 ? room : amplitude + 4;
  return {
    rows,
    amplitude,
    baseline: (nth) => (rows.length === 1 ? room : top + (nth * (room - top)) / gaps),
  };
}

function underSpot(grid: HistogramGrid, { x, y, width }: Spot): Under | null {
  const { rows, baseline } = placing(grid, HEIGHT);
  const nth = rows.findIndex((_, at) => y <= baseline(at) + 1);
  const row = rows[nth];
  if (row === undefined || y > HEIGHT - BOTTOM) return null;
  return { row, bin: binUnder(grid.numBins, (x - LEFT) / (width - LEFT - RIGHT)) };
}

function paintRidges(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  grid: HistogramGrid,
  isLog: boolean,
  markedRow: number,
  ink: Ink,
): void {
  const { rows, amplitude, baseline } = placing(grid, height);
  const scale = heightScale(grid, isLog);
  const across = width - LEFT - RIGHT;
  for (const [nth, row] of rows.entries()) {
    const bottom = baseline(nth);
    const outline = new Path2D();
    for (let bin = 0; bin < grid.numBins; bin++) {
      const x = LEFT + ((bin + 0.5) / grid.numBins) * across;
      outline.lineTo(x, bottom - amplitude * scale(countAt(grid, row, bin)));
    }
    const area = new Path2D(outline);
    area.lineTo(LEFT + ((grid.numBins - 0.5) / grid.numBins) * across, bottom);
    area.lineTo(LEFT + (0.5 / grid.numBins) * across, bottom);
    area.closePath();
    const place = rows.length === 1 ? 1 : nth / (rows.length - 1);
    // Not the very quietest: the first ridge must still be seen.
    context.fillStyle = ink.sequential[2 + Math.round(place * (ink.sequential.length - 4))]!;
    context.fill(area);
    context.lineJoin = "round";
    context.strokeStyle = row === markedRow ? ink.text : ink.surface;
    context.lineWidth = row === markedRow ? 2 : 1;
    context.stroke(outline);
  }
  paintAxes(
    context,
    { width, height },
    grid,
    rows.map((row, nth) => [grid.steps[row]!, baseline(nth)] as const),
    ink,
  );
}

function paintAxes(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  grid: HistogramGrid,
  rows: readonly (readonly [step: number, y: number])[],
  ink: Ink,
): void {
  const across = width - LEFT - RIGHT;
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.textBaseline = "middle";
  for (const [step, y] of labelledRows(rows)) {
    context.fillText(shortNumber(step), width - RIGHT + 8, Math.min(y - 4, height - BOTTOM - 5));
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  const extent = grid.high - grid.low;
  const ticks = linearTicks(grid);
  for (const [at, name] of formatTicks(ticks).entries()) {
    const x = LEFT + (extent > 0 ? (ticks[at]! - grid.low) / extent : 0.5) * across;
    if (x > 8 && x < width - RIGHT + 12) context.fillText(name, x, height - 5);
  }
  context.textAlign = "left";
}
