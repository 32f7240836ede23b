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

/** Steps are labelled in epochs where it is known how many make one. */
export function ticksOfAxis(scale: Scale, axis: Axis, perEpoch: number | null = null): Tick[] {
  if (axis === "time") return clockTicks(scale);
  if (axis === "relative") return scale.isLog ? durationsAt(logTicks(scale)) : durationTicks(scale);
  if (perEpoch !== null && !scale.isLog) return epochTicks(scale, perEpoch);
  return labelled(scale.isLog ? logTicks(scale) : stepTicks(scale));
}

function epochTicks({ low, high }: Span, perEpoch: number): Tick[] {
  const all = linearTicks({ low: low / perEpoch, high: high / perEpoch });
  const whole = all.filter(Number.isInteger);
  const epochs = labelled(whole.length < 2 ? all : whole);
  return epochs.map(({ value, label }) => ({ value: value * perEpoch, label }));
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
