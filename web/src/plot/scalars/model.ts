/** All that a chart draws, from its data and the options, before there is any picture. */
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { NUM_COLOURS } from "../../data/run-colours";
import { nearest } from "../lines";
import { extentOf, type Scale } from "../scale";
import {
  clockTicks,
  durationTicks,
  formatDuration,
  formatMoment,
  integers,
  labelled,
  linearTicks,
  logTicks,
  niceSpan,
  type Span,
  type Tick,
} from "../ticks";
import type { Chart, Member } from "./state";
import type { Axis, Limits, Options } from "./options";
import { COLUMNS, type Columns, emptyColumns, type Last, SeriesData } from "./series-feed";

/** How a line ends: as it is, in the death of its run, or where the connection was lost. */
export type End = "plain" | "died" | "lost";

export interface ChartRun {
  readonly id: string;
  readonly name: string;
  readonly slot: number;
  readonly end: End;
  /** Is it there for comparison only, behind the others? */
  readonly isBehind?: boolean;
}

/** What is known of a series; null where the run has none of this name. */
export type Lookup = (runId: string, name: string) => Sources | null;

/** What is known of a series: all of it, and a part in finer grain. */
export interface Sources {
  readonly whole: SeriesData | null;
  readonly finer: SeriesData | null;
  readonly isAnswered: boolean;
  readonly refusal: string;
}

export interface Line extends Drawn {
  readonly key: string;
  readonly run: ChartRun;
  readonly member: Member;
  /** What a legend says. */
  readonly label: string;
  readonly dash: readonly number[];
  readonly started: number;
  readonly last: Last | null;
  /** Thin and pale: its values are not read out. */
  readonly isBehind: boolean;
  readonly hasDots: boolean;
  /** The ends of a margin, each along its own axis. */
  readonly margin: readonly [lower: Curve, upper: Curve] | null;
}

export interface Model {
  readonly chart: Chart;
  readonly axis: Axis;
  /** Steps in an epoch, where the axis of steps is labelled in epochs; null where it is not. */
  readonly perEpoch: number | null;
  readonly lines: readonly Line[];
  /** All that there is along the axis, whatever the zoom. */
  readonly extent: Span | null;
  /** Null where there is nothing to draw. */
  readonly x: Scale | null;
  readonly y: Scale | null;
  readonly xTicks: readonly Tick[];
  readonly yTicks: readonly Tick[];
  readonly isSmoothed: boolean;
  /** Of how many lines nothing has come yet. */
  readonly numAwaited: number;
  readonly refusal: string;
  /** Why nothing is drawn; empty where something is. */
  readonly note: string;
}

type Wish = Pick<
  Options,
  "smoothing" | "isSmoothingChosen" | "axis" | "isLogX" | "isLogY" | "ignoresOutliers" | "zoom" | "limits"
> & { readonly perEpoch?: number | null };

/** As many lines can be told apart by their colours alone. */
const NUM_PLAIN = 4;
/** An average over fewer points says another thing than they do. */
export const FEW_POINTS = 50;
/** So many points of a line can be marked without a crowd. */
const MAX_DOTS = 24;
const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 2.5], [8, 3, 2, 3]];

export function buildModel(chart: Chart, runs: readonly ChartRun[], lookup: Lookup, wish: Wish): Model {
  const sources = runs.flatMap((run) => sourcesOf(chart, run, lookup));
  const smoothing = smoothingOf(sources, wish);
  const lines = sources.map((one, at) => lineOf(chart, one, at, { ...wish, smoothing }, lookup));
  const found = axisExtent(lines.map((line) => reachOf(line, wish.axis)), wish.isLogX);
  const perEpoch = wish.axis === "step" ? (wish.perEpoch ?? null) : null;
  // Epochs are counted from nought on: plots beside each other have one axis.
  const extent = found !== null && perEpoch !== null && !wish.isLogX ? { ...found, low: Math.min(0, found.low) } : found;
  const x = extent === null ? null : { ...shown(extent, wish.zoom, wish.isLogX), isLog: wish.isLogX };
  const y = x === null ? null : valueScale(allDrawn(lines), x, wish.isLogY, wish.ignoresOutliers, wish.limits.get(chart.key));
  return {
    chart,
    axis: wish.axis,
    perEpoch,
    lines,
    extent,
    x,
    y,
    xTicks: x === null ? [] : ticksOfAxis(x, wish.axis, perEpoch),
    yTicks: y === null ? [] : ticksOfValues(y),
    isSmoothed: smoothing > 0,
    numAwaited: sources.filter(({ sources: one }) => !one.isAnswered && one.refusal === "").length,
    refusal: sources.find(({ sources: one }) => one.refusal !== "")?.sources.refusal ?? "",
    note: noteOf(lines, x, y, wish),
  };
}

interface Found {
  readonly run: ChartRun;
  readonly member: Member;
  readonly sources: Sources;
}

function sourcesOf(chart: Chart, run: ChartRun, lookup: Lookup): Found[] {
  const members = chart.form === "margin" ? chart.members.slice(0, 1) : chart.members;
  return members.flatMap((member) => {
    const sources = lookup(run.id, member.name);
    return sources === null ? [] : [{ run, member, sources }];
  });
}

/** One for all lines of a chart, since they are compared. What somebody asked for is done whatever it is. */
function smoothingOf(found: readonly Found[], { smoothing, isSmoothingChosen }: Wish): number {
  const isLong = found.some(({ sources }) => (sources.whole?.numPoints ?? 0) >= FEW_POINTS);
  return isLong || isSmoothingChosen ? smoothing : 0;
}

/** From where to where a line goes along the axis. Of a bucket only its middle is known, of the last one its end. */
function reachOf({ curve, last, started }: Line, axis: Axis): Float64Array {
  if (!curve.hasBuckets || curve.size === 0) return curve.x;
  const end = last === null ? -Infinity : { step: last.step, relative: last.time - started, time: last.time }[axis];
  return Float64Array.of(startOf(curve, axis), ...curve.x, Math.max(end, curve.x.at(-1)!));
}

/** Where the first bucket begins, if its points are as far apart as they are on average. */
function startOf({ x, count, size }: Curve, axis: Axis): number {
  if (size < 2) return x[0]!;
  const width = Math.min(x[1]! - x[0]!, (x[size - 1]! - x[0]!) / (size - 1));
  const start = x[0]! - (width / 2) * (1 - 1 / count[0]!);
  return axis === "step" ? Math.round(start) : start;
}

function lineOf(
  chart: Chart,
  { run, member, sources }: Found,
  at: number,
  { axis, smoothing }: Wish,
  lookup: Lookup,
): Line {
  const curve = curveOf(sources.whole, sources.finer, axis);
  // Means of epochs beside trials: what is few is left as it is.
  const isSmoothed = smoothing > 0 && (chart.form !== "keyed" || curve.numPoints >= FEW_POINTS);
  const smoothed = isSmoothed ? smooth(curve.mean, curve.count, curve.bad, smoothing) : curve.mean;
  const end = (index: number): Curve => {
    const known = lookup(run.id, chart.members[index]?.name ?? "");
    return curveOf(known?.whole ?? null, known?.finer ?? null, axis);
  };
  const isBehind = run.isBehind === true;
  return {
    key: `${run.id}\n${member.name}`,
    run: chart.form === "keyed" ? { ...run, slot: slotOf(chart, member) } : run,
    member,
    curve,
    smoothed,
    last: sources.whole?.last ?? null,
    started: sources.whole?.started ?? 0,
    isBehind,
    hasDots: chart.form === "keyed" && !isBehind && curve.numPoints <= MAX_DOTS,
    label: labelOf(chart, run, member),
    dash: DASHES[dashOf(chart, member, at) % DASHES.length]!,
    margin: chart.form === "margin" ? [end(1), end(2)] : null,
  };
}

function labelOf({ form, members }: Chart, run: ChartRun, { label }: Member): string {
  if (form === "keyed" && run.isBehind !== true) return label;
  return form === "margin" || members.length === 1 ? run.name : `${label} · ${run.name}`;
}

export function colourOfLine({ run }: Pick<Line, "run">): string {
  return `var(--cat-${run.slot})`;
}

/** The colour of a member where it is not that of its run. */
export function slotOf({ members }: Chart, member: Member): number {
  return (members.indexOf(member) % NUM_COLOURS) + 1;
}

/** Lines of one run have one colour: then each has dashes of its own. */
function dashOf(chart: Chart, member: Member, at: number): number {
  if (chart.form === "keyed") return Math.floor(chart.members.indexOf(member) / NUM_PLAIN);
  if (chart.form === "lines" && chart.members.length > 1) return chart.members.indexOf(member);
  return Math.floor(at / NUM_PLAIN);
}

/** The ends of margins count for the vertical axis like lines. */
function allDrawn(lines: readonly Line[]): Drawn[] {
  return lines.flatMap((line) => [
    line,
    ...(line.margin ?? []).map((curve) => ({ curve, smoothed: curve.mean })),
  ]);
}

function shown(extent: Span, zoom: Span | null, isLogX: boolean): Span {
  if (zoom === null) return extent;
  const low = isLogX && zoom.low <= 0 ? extent.low : zoom.low;
  return low < zoom.high ? { low, high: zoom.high } : extent;
}

function noteOf(lines: readonly Line[], x: Scale | null, y: Scale | null, { isLogX, isLogY, zoom }: Wish): string {
  if (x !== null && y !== null) return "";
  if (lines.every(({ curve }) => curve.size === 0)) return "";
  if (x === null) return isLogX ? "No place above 0: nothing for a logarithmic axis." : "";
  const isFinite = lines.some(({ curve }) => curve.mean.some(Number.isFinite));
  if (!isFinite) return "All values are NaN or infinite.";
  if (zoom !== null) return "Nothing in this range.";
  return isLogY ? "No value above 0: nothing for a logarithmic axis." : "";
}

// --- The ticks of both axes of a chart.

const MOST = 5;

function ticksOfValues(scale: Scale): Tick[] {
  return labelled(scale.isLog ? logTicks(scale) : linearTicks(scale));
}

/** Steps are labelled in epochs where it is known how many make one. */
export function ticksOfAxis(scale: Scale, axis: Axis, perEpoch: number | null = null): Tick[] {
  if (axis === "time") return clockTicks(scale);
  if (axis === "relative") return scale.isLog ? labelled(logTicks(scale), "\u202fs") : durationTicks(scale);
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
  if (last - first < MOST) return integers(first, last);
  return linearTicks(span).filter(Number.isInteger);
}

/** What an axis has to hold: the values, and how much each of them weighs where some are left out. */
export interface Drawn {
  readonly curve: Curve;
  readonly smoothed: Float64Array;
}

const OUTLIERS = 0.05;
const LOG_PADDING = 0.04;
const NEAR_NOUGHT = 0.02;

/** From the first to the last of all places; null where there are none. */
export function axisExtent(lines: readonly Float64Array[], isLog: boolean): Span | null {
  const span = extentOf(lines, isLog);
  return span === null ? null : roundedOff(span.low, span.high, isLog);
}

function roundedOff(low: number, high: number, isLog: boolean): Span {
  // A single point stands in the middle.
  if (low === high) return isLog ? { low: low / 2, high: high * 2 } : { low: low - 1, high: high + 1 };
  // The mean of the first bucket is a little more than where it begins.
  return { low: !isLog && low > 0 && low < NEAR_NOUGHT * high ? 0 : low, high };
}

/** The vertical axis for what is seen between two places of the horizontal one. */
export function valueScale(
  lines: readonly Drawn[],
  seen: Span,
  isLog: boolean,
  ignoresOutliers: boolean,
  fixed: Limits | undefined,
): Scale | null {
  const found = ignoresOutliers ? middleOf(lines, seen, isLog) : seenExtent(lines, seen, isLog);
  const chosen = withLimits(found, fixed, isLog);
  if (chosen === null) return null;
  const room = withRoom(chosen, isLog);
  // The end that is fixed stays where it is.
  return { ...(withLimits(room, fixed, isLog) ?? room), isLog };
}

function withRoom(span: Span, isLog: boolean): Span {
  if (!isLog) return niceSpan(span);
  const room = (span.high / span.low) ** LOG_PADDING;
  return { low: span.low / room, high: span.high * room };
}

function withLimits(found: Span | null, fixed: Limits | undefined, isLog: boolean): Span | null {
  const isUsable = (limit: number | null | undefined): limit is number =>
    limit !== null && limit !== undefined && (!isLog || limit > 0);
  const low = isUsable(fixed?.low) ? fixed.low : found?.low;
  const high = isUsable(fixed?.high) ? fixed.high : found?.high;
  if (low === undefined || high === undefined) return null;
  return low < high ? { low, high } : widened(low, high, isLog);
}

/** Values that are all the same, or limits beyond all values, still need some room. */
function widened(low: number, high: number, isLog: boolean): Span {
  const [least, most] = [Math.min(low, high), Math.max(low, high)];
  if (isLog) return { low: least / 2, high: most * 2 };
  const room = Math.max(Math.abs(least), Math.abs(most)) * 0.1 || 1;
  return { low: least - room, high: most + room };
}

/** The first and one past the last item that are seen. */
export function itemsIn({ x }: Curve, { low, high }: Span): [number, number] {
  let [first, end] = [0, x.length];
  while (first < end && x[first]! < low) first++;
  while (end > first && x[end - 1]! > high) end--;
  return [first, end];
}

function seenExtent(lines: readonly Drawn[], seen: Span, isLog: boolean): Span | null {
  const columns = lines.flatMap(({ curve, smoothed }) => {
    const [first, end] = itemsIn(curve, seen);
    // With no item inside, a line from one side to the other may still cross it.
    const crosses = first === end && first > 0 && end < curve.size;
    return crosses ? [smoothed.subarray(first - 1, end + 1)] : [curve.low, curve.high, smoothed].map((one) => one.subarray(first, end));
  });
  return extentOf(columns, isLog);
}

/** From the 5th to the 95th percentile of the points that are seen. */
function middleOf(lines: readonly Drawn[], seen: Span, isLog: boolean): Span | null {
  const values: [value: number, count: number][] = [];
  for (const { curve } of lines) {
    const [first, end] = itemsIn(curve, seen);
    for (let at = first; at < end; at++) {
      const value = curve.mean[at]!;
      if (!Number.isFinite(value) || (isLog && value <= 0)) continue;
      values.push([value, Math.max(1, curve.count[at]! - curve.bad[at]!)]);
    }
  }
  if (values.length === 0) return seenExtent(lines, seen, isLog);
  values.sort(([a], [b]) => a - b);
  const total = values.reduce((sum, [, count]) => sum + count, 0);
  return { low: percentile(values, OUTLIERS * total), high: percentile(values, (1 - OUTLIERS) * total) };
}

function percentile(values: readonly (readonly [number, number])[], rank: number): number {
  let passed = 0;
  for (const [value, count] of values) {
    passed += count;
    if (passed >= rank) return value;
  }
  return values.at(-1)![0];
}

/** Items in the order of `x`. */
export interface Curve extends Columns {
  readonly size: number;
  readonly x: Float64Array;
  readonly hasBuckets: boolean;
  /** Of the whole series. */
  readonly numPoints: number;
}

type Items = Columns & { readonly x: Float64Array };

interface Place {
  readonly items: Items;
  readonly at: number;
  readonly x: number;
}

const NOTHING = new SeriesData();

/** The items of the finer data where it has any, and those of the other before and after. */
export function curveOf(whole: SeriesData | null, finer: SeriesData | null, axis: Axis): Curve {
  // Before an answer for another axis is there, a window in its unit says nothing.
  const inside = finer !== null && finer.size > 0 && finer.asked.axis === axis ? finer : null;
  if (inside === null) return plain(whole ?? NOTHING, axis);
  if (whole === null || whole.size === 0) return plain(inside, axis);
  const { low, high } = inside.asked;
  if (low === null || high === null) return plain(inside, axis);
  const isWithin = (x: number): boolean => x >= low && x <= high;
  const [around, within] = [plain(whole, axis), plain(inside, axis)];
  const places = [
    ...placesOf(around).filter(({ x }) => !isWithin(x)),
    // New points come whatever the window is.
    ...placesOf(within).filter(({ x }) => isWithin(x)),
  ];
  return { ...gather(places), hasBuckets: around.hasBuckets || within.hasBuckets, numPoints: whole.numPoints };
}

function plain(data: SeriesData, axis: Axis): Curve {
  const columns = Object.fromEntries(COLUMNS.map((name) => [name, data.column(name)])) as unknown as Columns;
  const known: Items = { ...columns, x: alongAxis(data, axis) };
  const { hasBuckets, numPoints, size } = data;
  return { ...(isRising(known.x) ? known : gather(placesOf(known))), size, hasBuckets, numPoints };
}

function alongAxis(data: SeriesData, axis: Axis): Float64Array {
  if (axis === "step") return data.column("step");
  const times = data.column("time");
  return axis === "time" ? times : times.map((time) => time - data.started);
}

function isRising(x: Float64Array): boolean {
  for (let at = 1; at < x.length; at++) if (x[at]! < x[at - 1]!) return false;
  return true;
}

function placesOf(items: Items): Place[] {
  return Array.from(items.x, (x, at) => ({ items, at, x }));
}

/** In the order of the axis; those of one place in the order in which they came. */
function gather(places: Place[]): Items & { size: number } {
  places.sort((a, b) => a.x - b.x);
  const columns = emptyColumns(places.length);
  for (const name of COLUMNS) places.forEach(({ items, at }, index) => (columns[name][index] = items[name][at]!));
  return { ...columns, x: Float64Array.from(places, ({ x }) => x), size: places.length };
}

/**
 * The average after each item, with the weight that it lacks at the beginning made good. A bucket counts as all
 * of its finite points, each with the mean of the bucket. Values that are not finite are gaps and change nothing.
 */
export function smooth(
  means: ArrayLike<number>,
  counts: ArrayLike<number>,
  bad: ArrayLike<number>,
  weight: number,
): Float64Array {
  const smoothed = new Float64Array(means.length);
  let [average, total] = [0, 0];
  for (let at = 0; at < means.length; at++) {
    const value = means[at]!;
    if (!Number.isFinite(value)) {
      smoothed[at] = NaN;
      continue;
    }
    // Of n points of one value, what was there before keeps weight ** n.
    const kept = weight ** Math.max(1, counts[at]! - bad[at]!);
    average = kept * average + (1 - kept) * value;
    total = kept * total + (1 - kept);
    smoothed[at] = average / total;
  }
  return smoothed;
}

// --- The values of a chart at the cursor, or its last ones where there is no cursor.

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
