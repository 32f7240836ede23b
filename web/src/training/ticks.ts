/** The ticks of both axes of a chart. */
import type { Axis, Span } from "./options";
import { linearTicks, logTicks } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import type { Scale } from "./scale";
import { clockTicks, durationTicks, type Tick } from "../charting/timeticks";

export type { Tick };

const MOST = 5;

function labelled(values: readonly number[]): Tick[] {
  const labels = formatTicks(values);
  return values.map((value, at) => ({ value, label: labels[at]! }));
}

export function ticksOfValues(scale: Scale): Tick[] {
  return labelled(scale.isLog ? logTicks(scale) : linearTicks(scale));
}

export function ticksOfAxis(scale: Scale, axis: Axis): Tick[] {
  if (axis === "time") return clockTicks(scale);
  if (axis === "relative") return scale.isLog ? durationsAt(logTicks(scale)) : durationTicks(scale);
  return labelled(scale.isLog ? logTicks(scale) : stepTicks(scale));
}

/** There is nothing between two steps. */
function stepTicks(span: Span): number[] {
  const [first, last] = [Math.ceil(span.low), Math.floor(span.high)];
  if (last - first < MOST) return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  return linearTicks(span).filter(Number.isInteger);
}

function durationsAt(values: readonly number[]): Tick[] {
  return formatTicks(values).map((label, at) => ({ value: values[at]!, label: `${label}\u202fs` }));
}
