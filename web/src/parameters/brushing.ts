/** Parts of axes that were brushed: only the runs that pass through all of them stay. */
import { escaped, unescaped } from "../sections/escaping";
import type { Axis } from "./axes";

/** From one end to the other, in the unit of the axis, so that it holds also when the axis grows. */
export interface Brush {
  readonly low: number;
  readonly high: number;
}

/** By the key of the column. */
export type Brushes = ReadonlyMap<string, Brush>;

/** Rounding must not put out a run that stands at the very edge. */
const SLACK = 1e-4;
const LEAST = 0.01; // of an axis: what is shorter is a click

export function passes(axes: readonly Axis[], brushes: Brushes, runId: string): boolean {
  return axes.every((axis) => {
    const brush = brushes.get(axis.column.key);
    if (brush === undefined) return true;
    const place = axis.place(axis.column.values.get(runId));
    if (place === null) return false;
    return place >= axis.placeOfUnit(brush.low) - SLACK && place <= axis.placeOfUnit(brush.high) + SLACK;
  });
}

/** What was drawn from one place of an axis to another; null for what is too short to be meant. */
export function brushFrom(axis: Axis, from: number, to: number): Brush | null {
  const within = (place: number): number => Math.min(1, Math.max(0, place));
  const [low, high] = [within(Math.min(from, to)), within(Math.max(from, to))];
  return high - low < LEAST ? null : { low: axis.unitAt(low), high: axis.unitAt(high) };
}

export function readBrushes(text: string): Brushes {
  const brushes = new Map<string, Brush>();
  for (const part of text.split(",")) {
    const [key = "", from = "", to = ""] = part.split("~");
    const [low, high] = [Number(from), Number(to)];
    if (key !== "" && from !== "" && to !== "" && low <= high) brushes.set(unescaped(key), { low, high });
  }
  return brushes;
}

export function writeBrushes(brushes: Brushes): string {
  return [...brushes].map(([key, { low, high }]) => `${escaped(key)}~${short(low)}~${short(high)}`).join(",");
}

function short(unit: number): string {
  return String(Number(unit.toPrecision(6)));
}
