/** How the values of one series are spread, over time: as ridges and as a map. */
import { useCallback, useRef, useState } from "preact/hooks";
import { evenly } from "../../data/collections";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { askHistograms, type HistogramGrid } from "../../data/requests";
import { type Cell, fileName, save, toCsv } from "../../data/save-file";
import { useAsked } from "../../data/useAsked";
import { useNear } from "../../ui/useWidth";
import { Drawing, type Ink, type Spot } from "../Drawing";
import { Figure, RunTag, ToolButton, Waiting } from "../Figure";
import { paintCells, readInks } from "../cells";
import { countScale } from "../figure-options";
import { cursorStep, pointAt } from "../scalars/state";
import { axisOf, shareOf } from "../scale";
import { shortNumber, type Span } from "../ticks";
import { type Holder, UNREADABLE, versionOf } from "../useRecords";

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
  const isLog = countScale.chosen === "log";
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
          <Ridges grid={grid} isLog={isLog} marked={under?.row ?? rowAtStep(grid, step)} point={point} />
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

/** The row at a step that is pointed at elsewhere; -1 for none. */
function rowAtStep(grid: HistogramGrid, step: number | null): number {
  const place = placeOfStep(grid, step);
  return place === null ? -1 : rowUnder(grid.steps, place);
}

function remarkOf(grid: HistogramGrid, under: Under | null): string {
  if (under !== null) return describeCell(grid, under.row, under.bin);
  const { length } = grid.steps;
  return grid.numAll > length
    ? `${formatCount(length)} of ${formatNumberOf(grid.numAll, "step")}`
    : formatNumberOf(length, "step");
}

const NUM_STEPS = 128;
const NUM_BINS = 64;

/** The histograms of a series of one run, followed while they are near the screen. */
function useGrid(kind: Props["kind"], name: string, holder: Holder, isNear: boolean) {
  const key = JSON.stringify([holder.run.id, kind, name]);
  const ask = (): Promise<HistogramGrid> => askHistograms(holder.run.id, kind, name, NUM_STEPS, NUM_BINS);
  const asked = useAsked(isNear ? { key, version: versionOf(holder), ask } : null);
  // Not the histograms of another run under this one's name.
  const found = asked.key === key ? asked.value : null;
  const isEmpty = found?.steps.length === 0;
  return {
    grid: isEmpty ? null : found,
    problem: isEmpty && asked.problem === "" ? UNREADABLE : asked.problem,
    retry: asked.retry,
  };
}

interface Under {
  readonly row: number;
  readonly bin: number;
}

interface PictureProps {
  grid: HistogramGrid;
  isLog: boolean;
  point: (under: Under | null) => void;
}

const HEIGHT = 224;

/** `what` it shows, from which step to which, and its values. */
function labelOf({ steps, low, high }: HistogramGrid, what: string): string {
  const [first, last] = [formatCount(steps[0] ?? 0), formatCount(steps.at(-1) ?? 0)];
  return `${what} ${first} to ${last}, values from ${formatValue(low)} to ${formatValue(high)}`;
}

// --- Histograms over time as a map: steps to the right, values upward, the more the darker.

const LEFT = 40;
const RIGHT = 10;
const TOP = 6;
const BOTTOM = 20;
const TALL = HEIGHT - TOP - BOTTOM;

/** `step` is the one under the pointer, here or in another picture. */
function Heat({ grid, isLog, step, point }: PictureProps & { step: number | null }) {
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, _: number, ink: Ink) => {
      paintMap(context, width - LEFT - RIGHT, grid, isLog);
      paintAxes(context, width - LEFT - RIGHT, grid, ink);
    },
    [grid, isLog],
  );
  const underSpot = ({ x, y, width }: Spot): Under | null => {
    const [across, up] = [(x - LEFT) / (width - LEFT - RIGHT), 1 - (y - TOP) / TALL];
    if (across < 0 || across > 1 || up < 0 || up > 1) return null;
    return { row: rowUnder(grid.steps, across), bin: binUnder(grid.numBins, up) };
  };
  const place = placeOfStep(grid, step);
  return (
    <Drawing
      label={labelOf(grid, `Heat map of ${formatCount(grid.steps.length)} histograms, steps`)}
      height={HEIGHT}
      paint={paint}
      onPoint={(spot) => point(spot && underSpot(spot))}
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
function placeOfStep({ steps }: HistogramGrid, step: number | null): number | null {
  const [first, last] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  return step !== null && last > first && step >= first && step <= last ? (step - first) / (last - first) : null;
}

function paintMap(context: CanvasRenderingContext2D, width: number, grid: HistogramGrid, isLog: boolean): void {
  const { numBins, steps } = grid;
  const ratio = context.getTransform().a;
  const [across, down] = [Math.round(width * ratio), Math.round(TALL * ratio)];
  if (across <= 0) return;
  const values = Float32Array.from(grid.counts, heightScale(grid, isLog));
  // A column of the counts is a bin: they go upwards.
  const upright = Float32Array.from(values, (_, at) => values[(at % steps.length) * numBins + Math.floor(at / steps.length)]!);
  const edge = (bin: number): number => Math.round((1 - bin / numBins) * down);
  const bands = Array.from({ length: numBins }, (_, bin) => ({
    ...{ row: bin, top: edge(bin + 1), height: edge(bin) - edge(bin + 1) },
    scale: { map: "seq", low: 0, high: 1 } as const,
  }));
  const columns = new Int32Array(across);
  for (const [row, [from, to]] of rowSpans(steps).entries()) {
    const left = Math.round(from * across);
    columns.fill(row, left, Math.max(left + 1, Math.round(to * across)));
  }
  const image = new ImageData(across, down);
  paintCells(image, { numColumns: steps.length, values: upright, kindOf: () => "value" }, bands, columns, readInks());
  context.putImageData(image, Math.round(LEFT * ratio), Math.round(TOP * ratio));
}

const NUM_TICKS = 5;

function paintAxes(context: CanvasRenderingContext2D, width: number, grid: HistogramGrid, ink: Ink): void {
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, label } of axisOf(grid, NUM_TICKS).ticks) {
    const y = TOP + TALL * (1 - shareOf(grid, value));
    context.fillText(label, LEFT - 6, Math.min(TOP + TALL - 4, Math.max(TOP + 5, y)));
  }
  paintBelow(context, { low: grid.steps[0] ?? 0, high: grid.steps.at(-1) ?? 0 }, LEFT, width);
}

function paintBelow(context: CanvasRenderingContext2D, span: Span, left: number, width: number): void {
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const { value, label } of axisOf(span, NUM_TICKS).ticks) {
    const x = left + shareOf(span, value) * width;
    // Not over the edge at the left.
    if (x > 8) context.fillText(label, x, HEIGHT - 5);
  }
  context.textAlign = "left";
}

// --- Histograms one behind the other, the oldest at the back.

const NUM_RIDGES = 17;
const RIDGES_RIGHT = 52;
const RIDGES_LEFT = 4;
const RIDGES_BOTTOM = 20;

/** `marked` is the row that is pointed at; -1 for none. */
function Ridges({ grid, isLog, marked, point }: PictureProps & { marked: number }) {
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, _: number, ink: Ink) => paintRidges(context, width, grid, isLog, marked, ink),
    [grid, isLog, marked],
  );
  return (
    <Drawing
      label={labelOf(grid, `Ridges of ${grid.steps.length} histograms from step`)}
      height={HEIGHT}
      paint={paint}
      onPoint={(spot) => point(spot && underRidges(grid, spot))}
    />
  );
}

/** Where the ridges stand: the highest peak of the one at the back still fits. */
function placing(grid: HistogramGrid) {
  const rows = evenly(grid.steps.length, NUM_RIDGES);
  const room = HEIGHT - RIDGES_BOTTOM;
  const gaps = rows.length - 1;
  if (gaps === 0) return { rows, amplitude: room - 8, baseline: () => room };
  const amplitude = Math.min(room - 8, Math.max((3.4 * room) / (gaps + 3.4), 24));
  const top = amplitude + 4;
  return { rows, amplitude, baseline: (nth: number) => top + (nth * (room - top)) / gaps };
}

function underRidges(grid: HistogramGrid, { x, y, width }: Spot): Under | null {
  const { rows, baseline } = placing(grid);
  const nth = rows.findIndex((_, at) => y <= baseline(at) + 1);
  const row = rows[nth];
  if (row === undefined || y > HEIGHT - RIDGES_BOTTOM) return null;
  return { row, bin: binUnder(grid.numBins, (x - RIDGES_LEFT) / (width - RIDGES_LEFT - RIDGES_RIGHT)) };
}

function paintRidges(
  context: CanvasRenderingContext2D,
  width: number,
  grid: HistogramGrid,
  isLog: boolean,
  marked: number,
  ink: Ink,
): void {
  const { rows, amplitude, baseline } = placing(grid);
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
    context.strokeStyle = row === marked ? ink.text : ink.surface;
    context.lineWidth = row === marked ? 2 : 1;
    context.stroke(outline);
  }
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.textBaseline = "middle";
  const baselines = rows.map((row, nth) => [grid.steps[row]!, baseline(nth)] as const);
  for (const [step, y] of labelledRows(baselines)) {
    context.fillText(shortNumber(step), width - RIDGES_RIGHT + 8, Math.min(y - 4, HEIGHT - RIDGES_BOTTOM - 5));
  }
  paintBelow(context, grid, RIDGES_LEFT, across);
}

// --- Histograms over time as a drawing needs them: which rows, how high, and what lies under a place.

const LINE_HEIGHT = 14;

/** Rows far enough from each other for a line of text each: always so many on, up from the last one. */
export function labelledRows<Row extends readonly [step: number, y: number]>(rows: readonly Row[]): readonly Row[] {
  const [first, last] = [rows[0]?.[1] ?? 0, rows.at(-1)?.[1] ?? 0];
  const every = Math.max(1, Math.ceil((LINE_HEIGHT * (rows.length - 1)) / Math.max(1, Math.abs(last - first))));
  return rows.filter((_, at) => (rows.length - 1 - at) % every === 0);
}

/** From a count to a height between 0 and 1; the most that there is anywhere is 1. */
export function heightScale(grid: HistogramGrid, isLog: boolean): (count: number) => number {
  let most = 0;
  for (const count of grid.counts) if (count > most) most = count;
  if (most === 0) return () => 0;
  if (!isLog) return (count) => count / most;
  // Counts may be shares of one: then a logarithm of 1 + count would be nearly straight.
  let least = most;
  for (const count of grid.counts) if (count > 0 && count < least) least = count;
  const unit = Math.min(1, least);
  const whole = Math.log1p(most / unit);
  return (count) => (count > 0 ? Math.log1p(count / unit) / whole : 0);
}

export function countAt(grid: HistogramGrid, row: number, bin: number): number {
  return grid.counts[row * grid.numBins + bin] ?? 0;
}

export function binEdges({ low, high, numBins }: HistogramGrid, bin: number): [from: number, to: number] {
  const width = (high - low) / numBins;
  return [low + bin * width, bin === numBins - 1 ? high : low + (bin + 1) * width];
}

/** Where each row lies along the axis of steps, from 0 to 1: halfway to its neighbours. */
export function rowSpans(steps: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const [first, last] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  const extent = last - first;
  if (extent <= 0) return steps.map((_, at) => [at / steps.length, (at + 1) / steps.length]);
  const middle = (at: number): number => ((steps[at]! + steps[at + 1]!) / 2 - first) / extent;
  return steps.map((_, at) => [at === 0 ? 0 : middle(at - 1), at === steps.length - 1 ? 1 : middle(at)]);
}

export function rowUnder(steps: readonly number[], place: number): number {
  const spans = rowSpans(steps);
  const found = spans.findIndex(([, to]) => place < to);
  return found === -1 ? spans.length - 1 : found;
}

/** The bin under a place between the lowest edge (0) and the highest (1). */
export function binUnder(numBins: number, place: number): number {
  return Math.min(numBins - 1, Math.max(0, Math.floor(place * numBins)));
}

/** `step 3 200: −0.12 to 0.03 · 182` */
export function describeCell(grid: HistogramGrid, row: number, bin: number): string {
  const [from, to] = binEdges(grid, bin);
  const count = countAt(grid, row, bin);
  const amount = Number.isInteger(count) ? formatCount(count) : formatValue(count, 4);
  return `step ${formatCount(grid.steps[row] ?? 0)}: ${formatValue(from, 3)} to ${formatValue(to, 3)} · ${amount}`;
}

export function gridRows(grid: HistogramGrid): Cell[][] {
  const rows: Cell[][] = [["step", "from", "to", "count"]];
  for (const [row, step] of grid.steps.entries()) {
    for (let bin = 0; bin < grid.numBins; bin++)
      rows.push([step, ...binEdges(grid, bin), countAt(grid, row, bin)]);
  }
  return rows;
}
