/** The lines of runs through the axes, and which of them is nearest to a place. */
import type { Axis } from "./axes";

export interface Frame {
  readonly top: number;
  readonly height: number;
  /** Where runs without a value pass. */
  readonly missingY: number;
  x(nth: number): number;
}

export interface Trace {
  readonly runId: string;
  /** The height at each axis. */
  readonly ys: readonly number[];
}

export function traceOf(runId: string, axes: readonly Axis[], frame: Frame): Trace {
  const ys = axes.map((axis) => {
    const place = axis.place(axis.column.values.get(runId));
    return place === null ? frame.missingY : frame.top + (1 - place) * frame.height;
  });
  return { runId, ys };
}

export function pathOf({ ys }: Trace, frame: Frame): string {
  return ys.map((y, nth) => `${nth === 0 ? "M" : "L"}${frame.x(nth).toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** The run whose line passes nearest to a place, not farther than so many pixels up or down; null for none. */
export function nearestTrace(
  traces: readonly Trace[],
  frame: Frame,
  x: number,
  y: number,
  reach: number,
): string | null {
  let [found, least]: [string | null, number] = [null, reach];
  for (const { runId, ys } of traces) {
    const distance = Math.abs(heightAt(ys, frame, x) - y);
    // The line that was drawn last lies on top.
    if (distance <= least) [found, least] = [runId, distance];
  }
  return found;
}

function heightAt(ys: readonly number[], frame: Frame, x: number): number {
  const last = ys.length - 1;
  if (last < 1) return ys[0] ?? Infinity;
  let nth = 0;
  while (nth < last - 1 && x > frame.x(nth + 1)) nth += 1;
  const [from, to] = [frame.x(nth), frame.x(nth + 1)];
  if (x < from - 8 || x > to + 8) return Infinity;
  const share = Math.min(1, Math.max(0, (x - from) / (to - from)));
  return ys[nth]! + share * (ys[nth + 1]! - ys[nth]!);
}
