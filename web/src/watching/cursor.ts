/** The cursor of the keyboard on the map: from cell to cell. */
import { readingOf, sentenceOf } from "./readings";
import * as state from "./state";
import { nearestBucket, zoomed } from "./steps";

const FAR = 10;
const PAGE = 10;
const ZOOM = 2;

type Action = (far: number) => void;

const ACTIONS: Readonly<Record<string, Action>> = {
  ArrowLeft: (far) => moveBy(0, -far),
  ArrowRight: (far) => moveBy(0, far),
  ArrowUp: (far) => moveBy(-far, 0),
  ArrowDown: (far) => moveBy(far, 0),
  PageUp: () => moveBy(-PAGE, 0),
  PageDown: () => moveBy(PAGE, 0),
  Home: () => moveBy(0, -Infinity),
  End: () => moveBy(0, Infinity),
  Enter: open,
  " ": open,
  "+": () => zoomBy(ZOOM),
  "=": () => zoomBy(ZOOM),
  "-": () => zoomBy(1 / ZOOM),
  "\u2212": () => zoomBy(1 / ZOOM),
  "0": () => state.setZoom(null),
  Escape: leave,
};

/** True where the key had a meaning. */
export function handleHeatKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const action = ACTIONS[event.key];
  action?.(event.shiftKey ? FAR : 1);
  return action !== undefined;
}

interface Place {
  /** Among the rows that are shown. */
  readonly nth: number;
  readonly bucket: number;
}

/** Where the cursor is: under the pointer, on what is selected or, before both, at the last step of the first row. */
function place(): Place | null {
  const { rows } = state.lines.peek();
  const spans = state.spans.peek();
  if (rows.length === 0 || spans.length === 0) return null;
  const at = state.pointed.peek();
  const name = at?.row ?? state.rowName.peek();
  const step = at?.step ?? state.step.peek() ?? Infinity;
  const nth = rows.findIndex(({ row }) => row.name === name);
  const bucket = step === Infinity ? spans.length - 1 : nearestBucket(spans, step);
  return { nth: Math.max(0, nth), bucket };
}

function moveBy(down: number, right: number): void {
  const from = place();
  const grid = state.grid.peek();
  if (from === null || grid === null) return;
  const { rows } = state.lines.peek();
  // The first key only shows where the cursor is.
  const isFirst = state.pointed.peek() === null && Number.isFinite(down) && Number.isFinite(right);
  const nth = clamp(isFirst ? from.nth : from.nth + down, rows.length);
  const bucket = clamp(isFirst ? from.bucket : from.bucket + right, grid.firstSteps.length);
  const line = rows[nth]!;
  state.pointed.value = { row: line.row.name, step: grid.lastSteps[bucket]! };
  const reading = readingOf(grid, line.index, bucket);
  state.spoken.value = reading === null ? "" : sentenceOf(reading);
}

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at));
}

function open(): void {
  const at = state.pointed.peek();
  if (at?.row !== null && at !== null) state.chooseRow(at.row, at.step);
}

/** Make the axis shorter or longer, around the cursor or its middle. */
export function zoomBy(factor: number, around?: number): void {
  const axis = state.axis.peek();
  const middle = around ?? state.pointed.peek()?.step ?? (axis.low + axis.high) / 2;
  if (factor > 1 && axis.high - axis.low < 2) return;
  state.setZoom(zoomed(axis, state.whole.peek(), factor, middle));
}

/** One thing after the other: the cursor, the zoom, what is selected. */
function leave(): void {
  if (state.pointed.peek() !== null) state.pointed.value = null;
  else if (state.zoom.peek() !== null) state.setZoom(null);
  else state.chooseRow(null, null);
}
