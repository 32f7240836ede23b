/** The values of a chart at the cursor, or its last ones where there is no cursor. */
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { nearest } from "../lines";
import { formatDuration, formatMoment } from "../ticks";
import type { End, Line, Model } from "./model";
import type { Axis, Span } from "./options";

export interface Reading {
  readonly line: Line;
  readonly at: number;
  /** As it was logged: of a bucket the mean, but at the end the last value itself. */
  readonly value: number;
  /** Where the line is drawn; null where it is not smoothed. */
  readonly smoothed: number | null;
}

/** So much of the axis beyond its end a line still has its last value. */
const TOLERANCE = 0.01;

/** Lines that have nothing there are left out, and those behind the others. */
export function readingsAt({ lines, x, isSmoothed }: Model, place: number | null): Reading[] {
  const readings: Reading[] = [];
  for (const line of lines.filter(({ isBehind }) => !isBehind)) {
    const { curve, smoothed } = line;
    const tolerance = x === null || x.isLog ? Infinity : TOLERANCE * (x.high - x.low);
    const at = place === null ? curve.size - 1 : nearest(curve.x, place, tolerance);
    if (at < 0) continue;
    const last = place === null && curve.hasBuckets ? line.last : null;
    readings.push({
      line,
      at,
      value: last?.value ?? curve.mean[at]!,
      smoothed: isSmoothed && line.smoothed !== line.curve.mean ? smoothed[at]! : null,
    });
  }
  return readings;
}

/** A place of the axis in words: `step 28 400`, `epoch 3.2`, `5 min 12 s`, `Nov 16 14:02:31`. */
export function describePlace(place: number, axis: Axis, perEpoch: number | null = null): string {
  if (axis === "step" && perEpoch !== null) return `epoch ${formatEpoch(place, perEpoch)}`;
  if (axis === "step") return `step ${formatCount(place)}`;
  return axis === "relative" ? formatDuration(place) : formatMoment(place);
}

/** How many epochs are done after so many steps. */
export function formatEpoch(step: number, perEpoch: number): string {
  return (step / perEpoch).toFixed(step % perEpoch === 0 ? 0 : perEpoch < 100 ? 2 : 3);
}

/** A value, where its line is drawn, and what it stands for. */
export function describeReading({ line, value, smoothed, at }: Reading): string {
  const { curve } = line;
  const parts = [`${line.label}: ${formatValue(value)}`];
  if (smoothed !== null) parts.push(`smoothed ${formatValue(smoothed)}`);
  const count = curve.count[at]!;
  if (count > 1) {
    parts.push(`${formatCount(count)} points from ${formatValue(curve.low[at]!)} to ${formatValue(curve.high[at]!)}`);
  }
  const bad = curve.bad[at]!;
  if (bad > 0 && count > 1) parts.push(`${formatCount(bad)} of them NaN or infinite`);
  return parts.join(", ");
}

/** The chart in one sentence, for those who do not see it. */
export function summarize(model: Model): string {
  const { chart, lines, x, numAwaited, note, refusal } = model;
  const drawn = lines.filter(({ curve, isBehind }) => curve.size > 0 && !isBehind);
  if (refusal !== "" && drawn.length === 0) return `${chart.fullTitle}: ${refusal}`;
  if (note !== "") return `${chart.fullTitle}: ${note}`;
  if (x === null || drawn.length === 0) return `${chart.fullTitle}: ${numAwaited > 0 ? "loading" : "no values"}.`;
  const last = readingsAt(model, null).map(({ line, value }) => `${line.label} ${formatValue(value, 3)}`);
  const named = last.slice(0, 3).join(", ");
  const more = last.length > 3 ? ` and ${last.length - 3} more` : "";
  const numBad = drawn.reduce((sum, { curve }) => sum + curve.bad.reduce((all, one) => all + one, 0), 0);
  const bad = numBad > 0 ? `; ${formatNumberOf(numBad, "value is", "values are")} NaN or infinite` : "";
  const count = `${drawn.length} ${drawn.length === 1 ? "line" : "lines"}`;
  return `${chart.fullTitle}, ${count} ${rangeOf(drawn, x, model)}; last values: ${named}${more}${bad}${endsOf(drawn)}.`;
}

/** A single point stands in the middle of an axis that is wider than it. */
function rangeOf(lines: readonly Line[], { low, high }: Span, { axis, perEpoch }: Pick<Model, "axis" | "perEpoch">): string {
  const words = (at: number): string => describePlace(at, axis, perEpoch);
  const place = lines[0]!.curve.x[0]!;
  const isOne = lines.every(({ curve }) => curve.numPoints === 1 && curve.x[0] === place);
  return isOne ? `at ${words(place)}` : `over ${words(low)} to ${words(high)}`;
}

function endsOf(lines: readonly Line[]): string {
  const named = (end: End): string =>
    [...new Set(lines.filter(({ run }) => run.end === end).map(({ run }) => run.name))].join(", ");
  const [died, lost] = [named("died"), named("lost")];
  return `${died === "" ? "" : `; ${died} died`}${lost === "" ? "" : `; ${lost} may have gone on: the connection is lost`}`;
}
