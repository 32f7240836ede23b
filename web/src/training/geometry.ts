/** Where the parts of a chart stand, in pixels. */
import { lastFinite } from "./curve";
import type { Line, Model } from "./model";
import { placeX, placeY, type Box, type Frame } from "./tracing";

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
  const at = lastFinite(line.smoothed);
  if (at < 0) return null;
  const [x, y] = [placeX(frame, line.curve.x[at]!), placeY(frame, line.smoothed[at]!)];
  const { left, top, width, height } = frame.box;
  const isSeen = x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1;
  return isSeen ? [x, y] : null;
}
