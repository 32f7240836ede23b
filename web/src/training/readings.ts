/** The values of a chart at the cursor, or its last ones where there is no cursor. */
import { formatCount, formatNumberOf, formatValue } from "../format";
import { lastFinite, nearest } from "./curve";
import type { End, Line, Model } from "./model";
import type { Axis } from "./options";
import { formatDuration, formatMoment } from "./timeticks";

export interface Reading {
  readonly line: Line;
  readonly at: number;
  /** As it is drawn. */
  readonly value: number;
  /** As it was logged: the mean of a bucket. */
  readonly logged: number;
}

/** So much of the axis beyond its end a line still has its last value. */
const TOLERANCE = 0.01;

/** Lines that have nothing there are left out. */
export function readingsAt({ lines, x, isSmoothed }: Model, place: number | null): Reading[] {
  const readings: Reading[] = [];
  for (const line of lines) {
    const { curve, smoothed } = line;
    const tolerance = x === null || x.isLog ? Infinity : TOLERANCE * (x.high - x.low);
    const at = place === null ? lastFinite(smoothed) : nearest(curve, place, tolerance);
    if (at < 0) continue;
    // The last of a bucket is more than its mean.
    const last = place === null && curve.hasBuckets ? line.lastValue : null;
    const logged = last ?? curve.mean[at]!;
    readings.push({ line, at, value: isSmoothed ? smoothed[at]! : logged, logged });
  }
  return readings;
}

/** A place of the axis in words: `step 28 400`, `5 min 12 s`, `Nov 16 14:02:31`. */
export function describePlace(place: number, axis: Axis): string {
  if (axis === "step") return `step ${formatCount(place)}`;
  return axis === "relative" ? formatDuration(place) : formatMoment(place);
}

/** A value and, where it is another, what was logged. */
export function describeReading({ line, value, logged, at }: Reading, isSmoothed: boolean): string {
  const { curve } = line;
  const parts = [`${line.label}: ${formatValue(value)}`];
  if (isSmoothed) parts.push(`smoothed; logged ${formatValue(logged)}`);
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
  const drawn = lines.filter(({ curve }) => curve.size > 0);
  if (refusal !== "" && drawn.length === 0) return `${chart.fullTitle}: ${refusal}`;
  if (note !== "") return `${chart.fullTitle}: ${note}`;
  if (x === null || drawn.length === 0) return `${chart.fullTitle}: ${numAwaited > 0 ? "loading" : "no values"}.`;
  const last = readingsAt(model, null).map(({ line, value }) => `${line.label} ${formatValue(value, 3)}`);
  const named = last.slice(0, 3).join(", ");
  const more = last.length > 3 ? ` and ${last.length - 3} more` : "";
  const numBad = drawn.reduce((sum, { curve }) => sum + curve.bad.reduce((all, one) => all + one, 0), 0);
  const bad = numBad > 0 ? `; ${formatNumberOf(numBad, "value is", "values are")} NaN or infinite` : "";
  const count = `${drawn.length} ${drawn.length === 1 ? "line" : "lines"}`;
  const range = `${describePlace(x.low, model.axis)} to ${describePlace(x.high, model.axis)}`;
  return `${chart.fullTitle}, ${count} over ${range}; last values: ${named}${more}${bad}${endsOf(drawn)}.`;
}

/** What the marks at the ends of lines say. */
function endsOf(lines: readonly Line[]): string {
  const named = (end: End): string =>
    [...new Set(lines.filter(({ run }) => run.end === end).map(({ run }) => run.name))].join(", ");
  const [died, lost] = [named("died"), named("lost")];
  return `${died === "" ? "" : `; ${died} died`}${lost === "" ? "" : `; ${lost} may have gone on: the connection is lost`}`;
}
