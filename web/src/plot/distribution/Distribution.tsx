/** How the values of one series are spread, over time: as ridges and as a map. */
import { useCallback, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { askHistograms, type HistogramGrid } from "../../data/requests";
import { fileName, save, toCsv } from "../../data/save-file";
import { useAsked } from "../../data/useAsked";
import { parseHex, rampBytes } from "../../ui/colour-scale";
import { useNear } from "../../ui/useWidth";
import { Drawing, type Ink, type Spot } from "../Drawing";
import { Figure, RunTag, ToolButton, Waiting } from "../Figure";
import { cursorStep, pointAt } from "../cursor";
import { countScale } from "../figure-options";
import { axisOf, shareOf } from "../scale";
import { type Holder, versionOf } from "../series";
import { shortNumber } from "../ticks";
import { UNREADABLE } from "../useRecords";
import {
  binUnder,
  countAt,
  describeCell,
  gridRows,
  heightScale,
  labelledRows,
  pickEvenly,
  rowSpans,
  rowUnder,
} from "./grid";

interface Props {
  kind: "histogram" | "tensor";
  name: string;
  holder: Holder;
  /** Are several runs chosen, so that one has to be named? */
  isNamed: boolean;
}

export function Distribution({ kind, name, holder, isNamed }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useNear(place);
  const [under, setUnder] = useState<Under | null>(null);
  const { grid, problem, retry } = useGrid(kind, name, holder, isNear);
  const isLog = countScale.value === "log";
  const point = (found: Under | null): void => {
    setUnder(found);
    pointAt(found === null || grid === null ? null : (grid.steps[found.row] ?? null), `${kind} ${name}`);
  };
  const take = (): void => {
    if (grid !== null) save(fileName([holder.run.name, name], "csv"), toCsv(gridRows(grid)), "text/csv");
  };
  const step = cursorStep.value;
  const title = kind === "tensor" ? `${name} (tensor)` : name;
  return (
    <div ref={place} class="sec-pair" role="group" aria-label={title}>
      <Figure title={title} hint={`${title}, ridges`} remark={isNamed && <RunTag run={holder.run} />}>
        {grid === null ? (
          <Waiting problem={problem} height={HEIGHT} retry={retry} />
        ) : (
          <Ridges grid={grid} isLog={isLog} marked={markedRow(grid, under, step)} point={point} />
        )}
      </Figure>
      <Figure
        title="over time"
        hint={`${title}, heat map`}
        remark={grid !== null && remarkOf(grid, under)}
        tools={<ToolButton glyph="save" name={`Save ${title} as CSV`} isDisabled={grid === null} press={take} />}
      >
        {grid === null ? (
          <Waiting problem="" height={HEIGHT} retry={retry} />
        ) : (
          <Heat grid={grid} isLog={isLog} step={step} point={point} />
        )}
      </Figure>
    </div>
  );
}

/** The ridge under the pointer, or the one at the step that is pointed at elsewhere. */
function markedRow(grid: HistogramGrid, under: Under | null, step: number | null): Under | null {
  if (under !== null) return under;
  const place = step === null ? null : placeOfStep(grid, step);
  return place === null ? null : { row: rowUnder(grid.steps, place), bin: 0 };
}

function remarkOf(grid: HistogramGrid, under: Under | null): string {
  if (under !== null) return describeCell(grid, under.row, under.bin);
  const { length } = grid.steps;
  return grid.numAll > length
    ? `${formatCount(length)} of ${formatNumberOf(grid.numAll, "step")}`
    : formatNumberOf(length, "step");
}

// --- The histograms of a series of one run, followed while they are near the screen.

const NUM_STEPS = 128;
const NUM_BINS = 64;

interface GridState {
  /** Null until there is one. */
  readonly grid: HistogramGrid | null;
  readonly problem: string;
  readonly retry: () => void;
}

function useGrid(
  kind: "histogram" | "tensor",
  name: string,
  holder: Holder,
  isNear: boolean,
): GridState {
  const key = JSON.stringify([holder.run.id, kind, name]);
  const asked = useAsked<HistogramGrid>(
    isNear
      ? {
          key,
          version: versionOf(holder),
          ask: () => askHistograms(holder.run.id, kind, name, NUM_STEPS, NUM_BINS),
        }
      : null,
  );
  // Not the histograms of another run under this one's name.
  const found = asked.key === key ? asked.value : null;
  const isUnreadable = found?.steps.length === 0 && asked.problem === "";
  return {
    grid: found !== null && found.steps.length > 0 ? found : null,
    problem: isUnreadable ? UNREADABLE : asked.problem,
    retry: asked.retry,
  };
}

// --- Histograms over time as a map: steps to the right, values upward, the more the darker.

const LEFT = 40;
const RIGHT = 10;
const TOP = 6;
const BOTTOM = 20;

interface HeatProps {
  grid: HistogramGrid;
  isLog: boolean;
  /** The step under the pointer, here or in another picture. */
  step: number | null;
  point: (under: Under | null) => void;
}

function Heat({ grid, isLog, step, point }: HeatProps) {
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) => {
      const size = { width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
      paintCells(context, size, grid, isLog, ink);
      paintAxes(context, size, grid, ink);
    },
    [grid, isLog],
  );
  const place = step === null ? null : placeOfStep(grid, step);
  return (
    <Drawing
      label={
        `Heat map of ${formatCount(grid.steps.length)} histograms, steps ${formatCount(grid.steps[0] ?? 0)} to ` +
        `${formatCount(grid.steps.at(-1) ?? 0)}, values from ${formatValue(grid.low)} to ${formatValue(grid.high)}`
      }
      height={HEIGHT}
      paint={paint}
      onPoint={(spot) => point(spot === null ? null : underSpot(grid, spot))}
    >
      {place !== null && (
        <i
          class="sec-cursor"
          style={{
            left: `calc(${LEFT}px + (100% - ${LEFT + RIGHT}px) * ${place})`,
            top: `${TOP}px`,
            bottom: `${BOTTOM}px`,
          }}
        />
      )}
    </Drawing>
  );
}

/** From 0 to 1; null where the step is not on the map. */
function placeOfStep({ steps }: HistogramGrid, step: number): number | null {
  const [first, last] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  return last > first && step >= first && step <= last ? (step - first) / (last - first) : null;
}

function underSpot(grid: HistogramGrid, { x, y, width }: Spot): Under | null {
  const across = (x - LEFT) / (width - LEFT - RIGHT);
  const up = 1 - (y - TOP) / (HEIGHT - TOP - BOTTOM);
  if (across < 0 || across > 1 || up < 0 || up > 1) return null;
  return { row: rowUnder(grid.steps, across), bin: binUnder(grid.numBins, up) };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function paintCells(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  grid: HistogramGrid,
  isLog: boolean,
  ink: Ink,
): void {
  const ramp = rampBytes(ink.sequential.map(parseHex));
  const scale = heightScale(grid, isLog);
  const { numBins, steps } = grid;
  if (steps.length === 0 || width <= 0) return;
  const image = new ImageData(steps.length, numBins);
  for (let row = 0; row < steps.length; row++) {
    for (let bin = 0; bin < numBins; bin++) {
      const colour = Math.round(scale(grid.counts[row * numBins + bin]!) * 255) * 4;
      image.data.set(ramp.subarray(colour, colour + 4), ((numBins - 1 - bin) * steps.length + row) * 4);
    }
  }
  const cells = new OffscreenCanvas(steps.length, numBins);
  cells.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  for (const [row, [from, to]] of rowSpans(steps).entries()) {
    // Whole pixels, so that no seam shows between two columns.
    const [left, right] = [Math.round(LEFT + from * width), Math.round(LEFT + to * width)];
    context.drawImage(cells, row, 0, 1, numBins, left, TOP, Math.max(1, right - left), height);
  }
}

const NUM_TICKS = 5;

function paintAxes(context: CanvasRenderingContext2D, { width, height }: Size, grid: HistogramGrid, ink: Ink): void {
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, label } of axisOf(grid, NUM_TICKS).ticks) {
    const y = TOP + height * (1 - shareOf(grid, value));
    context.fillText(label, LEFT - 6, Math.min(TOP + height - 4, Math.max(TOP + 5, y)));
  }
  const steps = { low: grid.steps[0] ?? 0, high: grid.steps.at(-1) ?? 0 };
  const places = axisOf(steps, NUM_TICKS).ticks.map(({ value, label }) => [label, LEFT + shareOf(steps, value) * width] as const);
  paintBelow(context, places, TOP + height + 15);
}

/** The numbers under a drawing. */
function paintBelow(context: CanvasRenderingContext2D, places: readonly (readonly [label: string, x: number])[], y: number): void {
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const [label, x] of places) context.fillText(label, x, y);
  context.textAlign = "left";
}

// --- Histograms one behind the other, the oldest at the back.

const HEIGHT = 224;
const NUM_RIDGES = 17;
const RIDGES_RIGHT = 52;
const RIDGES_LEFT = 4;
const RIDGES_BOTTOM = 20;

/** A row of the grid and a bin. */
interface Under {
  readonly row: number;
  readonly bin: number;
}

interface RidgesProps {
  grid: HistogramGrid;
  isLog: boolean;
  marked: Under | null;
  point: (under: Under | null) => void;
}

function Ridges({ grid, isLog, marked, point }: RidgesProps) {
  const markedRow = marked?.row ?? -1;
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) =>
      paintRidges(context, { width, height }, grid, isLog, markedRow, ink),
    [grid, isLog, markedRow],
  );
  const onPoint = (spot: Spot | null): void => point(spot === null ? null : underRidges(grid, spot));
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

interface Placing {
  readonly rows: readonly number[];
  readonly amplitude: number;
  readonly baseline: (nth: number) => number;
}

/** Where the ridges stand: the highest peak of the one at the back still fits. */
function placing(grid: HistogramGrid, height: number): Placing {
  const rows = pickEvenly(grid.steps.length, NUM_RIDGES);
  const room = height - RIDGES_BOTTOM;
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

function underRidges(grid: HistogramGrid, { x, y, width }: Spot): Under | null {
  const { rows, baseline } = placing(grid, HEIGHT);
  const nth = rows.findIndex((_, at) => y <= baseline(at) + 1);
  const row = rows[nth];
  if (row === undefined || y > HEIGHT - RIDGES_BOTTOM) return null;
  return { row, bin: binUnder(grid.numBins, (x - RIDGES_LEFT) / (width - RIDGES_LEFT - RIDGES_RIGHT)) };
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
  const across = width - RIDGES_LEFT - RIDGES_RIGHT;
  for (const [nth, row] of rows.entries()) {
    const bottom = baseline(nth);
    const outline = new Path2D();
    for (let bin = 0; bin < grid.numBins; bin++) {
      const x = RIDGES_LEFT + ((bin + 0.5) / grid.numBins) * across;
      outline.lineTo(x, bottom - amplitude * scale(countAt(grid, row, bin)));
    }
    const area = new Path2D(outline);
    area.lineTo(RIDGES_LEFT + ((grid.numBins - 0.5) / grid.numBins) * across, bottom);
    area.lineTo(RIDGES_LEFT + (0.5 / grid.numBins) * across, bottom);
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
  paintRidgeAxes(
    context,
    { width, height },
    grid,
    rows.map((row, nth) => [grid.steps[row]!, baseline(nth)] as const),
    ink,
  );
}

function paintRidgeAxes(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  grid: HistogramGrid,
  rows: readonly (readonly [step: number, y: number])[],
  ink: Ink,
): void {
  const across = width - RIDGES_LEFT - RIDGES_RIGHT;
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.textBaseline = "middle";
  for (const [step, y] of labelledRows(rows)) {
    context.fillText(shortNumber(step), width - RIDGES_RIGHT + 8, Math.min(y - 4, height - RIDGES_BOTTOM - 5));
  }
  const places = axisOf(grid).ticks.map(({ value, label }) => [label, RIDGES_LEFT + shareOf(grid, value) * across] as const);
  const seen = places.filter(([, x]) => x > 8 && x < width - RIDGES_RIGHT + 12);
  paintBelow(context, seen, height - 5);
}
