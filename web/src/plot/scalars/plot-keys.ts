/** The keys of a chart that has the focus. */
import { formatValue } from "../../data/format";
import { movedByKey } from "../../data/time-steps";
import { isForField, keysShown } from "../../ui/keys";
import { nearest } from "../lines";
import type { Model } from "./model";
import { options } from "./options";
import { describePlace, readingsAt } from "./readings";
import { resetZoom, toggleEnlarged, zoomBy } from "./scale-zoom";
import { cursor, spoken } from "./state";

const ZOOM = 2;
const closer = (model: Model): void => zoomBy(model, ZOOM);
const further = (model: Model): void => zoomBy(model, 1 / ZOOM);

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

/** Esc shows the whole axis and all charts again where nothing has the focus; call what it returns to stop. */
export function startEscape(): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented || isForField(event)) return;
    // Only where nothing else waits for it.
    if (keysShown.peek() || event.target !== document.body || !leaveView()) return;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener("keydown", onKeyDown, true);
  return () => removeEventListener("keydown", onKeyDown, true);
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
