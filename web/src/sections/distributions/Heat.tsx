/** Histograms over time as a map: steps to the right, values upward, the more the darker. */
import { useCallback } from "preact/hooks";
import { formatCount, formatValue } from "../../format";
import { parseHex, rampBytes } from "../../tensor/colour";
import type { HistogramGrid } from "../asking";
import type { Ink } from "../drawn";
import { Drawing, type Spot } from "../Drawing";
import { linearTicks } from "../../charting/numberticks";
import { formatTicks } from "../../charting/tickwords";
import { binUnder, heightScale, rowSpans, rowUnder } from "./grid";
import { HEIGHT, type Under } from "./Ridges";

const LEFT = 40;
const RIGHT = 10;
const TOP = 6;
const BOTTOM = 20;

interface Props {
  grid: HistogramGrid;
  isLog: boolean;
  /** The step under the pointer, here or in another picture. */
  step: number | null;
  point: (under: Under | null) => void;
}

export function Heat({ grid, isLog, step, point }: Props) {
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

function paintAxes(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  grid: HistogramGrid,
  ink: Ink,
): void {
  context.font = ink.font;
  context.fillStyle = ink.caption;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const extent = grid.high - grid.low;
  const values = linearTicks(grid, NUM_TICKS);
  for (const [at, name] of formatTicks(values).entries()) {
    const up = extent > 0 ? (values[at]! - grid.low) / extent : 0.5;
    context.fillText(
      name,
      LEFT - 6,
      Math.min(TOP + height - 4, Math.max(TOP + 5, TOP + height * (1 - up))),
    );
  }
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  const [first, last] = [grid.steps[0] ?? 0, grid.steps.at(-1) ?? 0];
  const steps = linearTicks({ low: first, high: last }, NUM_TICKS);
  for (const [at, name] of formatTicks(steps).entries()) {
    const across = last > first ? (steps[at]! - first) / (last - first) : 0.5;
    context.fillText(name, LEFT + across * width, TOP + height + 15);
  }
  context.textAlign = "left";
}
