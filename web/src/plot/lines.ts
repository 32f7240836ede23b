/** Lines for a small chart: what they are, what limits they need, where they run. */
import { useEffect, useState } from "preact/hooks";
import type { Reply } from "../data/source";
import * as store from "../data/store";
import type { SeriesBlock, SeriesWanted } from "../wire";

/** How the last point of a line is marked. */
export type LineEnd = "none" | "dot" | "cross" | "open";

export interface Line {
  readonly name: string;
  /** A colour for CSS. */
  readonly colour: string;
  readonly x: ArrayLike<number>;
  /** NaN and infinity are gaps. */
  readonly y: ArrayLike<number>;
  readonly low?: ArrayLike<number>;
  readonly high?: ArrayLike<number>;
  /** The values before they were smoothed: drawn pale behind the line. */
  readonly raw?: ArrayLike<number>;
  readonly end: LineEnd;
}

export interface Limits {
  readonly low: number;
  readonly high: number;
}

/** How much of a line, at either end of its values, may lie outside: one bad point would flatten all others. */
const OUTSIDE = 0.02;

/** The range of all lines along the horizontal axis; null where there is no point. */
export function xLimits(lines: readonly Line[]): Limits | null {
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    for (const value of Array.from(x)) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return null;
  return low === high ? { low: low - 0.5, high: high + 0.5 } : { low, high };
}

/**
 * The range of all values, with zero where it is near. Where it may be cut, that of nearly all values of each line,
 * and of lines that did not end badly, if there are such: what explodes would flatten all others.
 */
export function yLimits(lines: readonly Line[], isCut: boolean): Limits | null {
  let [low, high] = [Infinity, -Infinity];
  const good = lines.filter((line) => line.end !== "cross" && finiteOf(line.y).length > 1);
  for (const line of isCut && good.length > 0 ? good : lines) {
    const values = [line.y, ...(isCut ? [] : [line.low, line.high])].flatMap(finiteOf).sort((a, b) => a - b);
    if (finiteOf(line.y).length === 0) continue;
    const cut = isCut && values.length >= 10 ? Math.floor(OUTSIDE * values.length) : 0;
    // Where a line begins is no outlier: a loss is at its highest there.
    const first = finiteOf(line.y)[0]!;
    low = Math.min(low, values[cut]!, first);
    high = Math.max(high, values[values.length - 1 - cut]!, first);
  }
  return low > high ? null : roomy({ low, high });
}

/** Never empty, and down to zero where that is not far. */
function roomy({ low, high }: Limits): Limits {
  // Nought all along is the lower end: it may be a share or a count.
  if (low === 0 && high === 0) return { low: 0, high: 1 };
  if (low === high) {
    const around = Math.abs(low) * 0.1;
    return { low: low - around, high: high + around };
  }
  if (low > 0 && low < 0.5 * high) return { low: 0, high };
  return high < 0 && high > 0.5 * low ? { low, high: 0 } : { low, high };
}

function finiteOf(values: ArrayLike<number> | undefined): number[] {
  return Array.from(values ?? []).filter(Number.isFinite);
}

type Place = (value: number) => number;

/** The path of a line; it begins anew after a gap. A point between two gaps is a short dash. */
export function linePath({ x, y }: Pick<Line, "x" | "y">, toX: Place, toY: Place): string {
  let path = "";
  let isOpen = false;
  for (let at = 0; at < y.length; at++) {
    const value = y[at]!;
    if (!Number.isFinite(value)) {
      isOpen = false;
      continue;
    }
    const isAlone = !isOpen && !Number.isFinite(y[at + 1] ?? NaN);
    path += `${isOpen ? "L" : "M"}${round(toX(x[at]!))} ${round(toY(value))}${isAlone ? "h.01" : ""}`;
    isOpen = true;
  }
  return path;
}

/** The area between the lowest and the highest of each point; gaps split it. */
export function bandPath({ x, low, high }: Line, toX: Place, toY: Place): string {
  if (low === undefined || high === undefined) return "";
  let path = "";
  for (let from = 0; from < x.length;) {
    let to = from;
    while (to < x.length && Number.isFinite(low[to]!) && Number.isFinite(high[to]!)) to += 1;
    if (to - from > 1) path += areaOf(from, to);
    from = Math.max(to, from + 1);
  }
  return path;

  function areaOf(from: number, to: number): string {
    const there: string[] = [];
    const back: string[] = [];
    for (let at = from; at < to; at++) {
      const place = round(toX(x[at]!));
      there.push(`${place} ${round(toY(high![at]!))}`);
      back.unshift(`${place} ${round(toY(low![at]!))}`);
    }
    return `M${there.join("L")}L${back.join("L")}Z`;
  }
}

/** The last point that has a value. */
export function lastPoint({ x, y }: Pick<Line, "x" | "y">): readonly [number, number] | null {
  for (let at = y.length - 1; at >= 0; at--) if (Number.isFinite(y[at]!)) return [x[at]!, y[at]!];
  return null;
}

/** The value of a line at the point nearest to a place; null outside of it, or in a gap. */
export function valueNear({ x, y }: Pick<Line, "x" | "y">, place: number): number | null {
  if (x.length === 0 || place > x[x.length - 1]! || place < x[0]!) return null;
  let [first, end] = [0, x.length - 1];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (x[middle]! < place) first = middle + 1;
    else end = middle;
  }
  const nearest = first > 0 && place - x[first - 1]! < x[first]! - place ? first - 1 : first;
  const value = y[nearest]!;
  return Number.isFinite(value) ? value : null;
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}

// --- Take the frames of a series question apart and keep what they say, block after block.

/** A scalar of a run as columns of equal length. */
export interface Points {
  readonly steps: Float64Array;
  readonly values: Float64Array;
}

const COLUMNS = { points: 3, buckets: 7 } as const;
const VALUE_COLUMN = 2;
const COUNT_COLUMN = 5;

export function pointsKey(runId: string, name: string): string {
  return `${runId} ${name}`;
}

/** What is known after a frame: fresh blocks take the place of what was there, others come after it. */
export function withFrame(known: ReadonlyMap<string, Points>, reply: Reply): ReadonlyMap<string, Points> {
  if (reply.answer.type !== "series") return known;
  const next = new Map(known);
  let offset = reply.offset;
  for (const block of reply.answer.blocks) {
    const key = pointsKey(block.run_id, block.name);
    const found = readBlock(block, reply.buffer, offset);
    offset += 8 * COLUMNS[block.form] * block.num_items;
    const before = next.get(key);
    next.set(key, block.is_fresh || before === undefined ? found : joined(before, found));
  }
  return next;
}

function readBlock({ form, num_items }: SeriesBlock, buffer: ArrayBuffer, offset: number): Points {
  const column = (at: number): Float64Array =>
    new Float64Array(buffer, offset + 8 * at * num_items, num_items).slice();
  const values = column(VALUE_COLUMN);
  if (form === "buckets") {
    // A bucket in which nothing was finite is a gap.
    const [counts, bad] = [column(COUNT_COLUMN), column(COUNT_COLUMN + 1)];
    values.forEach((_, at) => {
      if (bad[at]! >= counts[at]!) values[at] = NaN;
    });
  }
  return { steps: column(0), values };
}

function joined(before: Points, after: Points): Points {
  return { steps: concat(before.steps, after.steps), values: concat(before.values, after.values) };
}

function concat(before: Float64Array, after: Float64Array): Float64Array {
  const all = new Float64Array(before.length + after.length);
  all.set(before);
  all.set(after, before.length);
  return all;
}

// --- Follow scalars of runs for as long as a part of the page is there.

const NUM_BUCKETS = 200;
const NOTHING: ReadonlyMap<string, Points> = new Map();
const MOST_KEPT = 256;

/** What was last known of each series, for a page that comes back while there is no connection. */
const lastKnown = new Map<string, Points>();

function knownOf(wanted: readonly SeriesWanted[]): ReadonlyMap<string, Points> {
  const keys = wanted.map(({ run_id, name }) => pointsKey(run_id, name));
  return new Map(keys.flatMap((key) => (lastKnown.has(key) ? [[key, lastKnown.get(key)!]] : [])));
}

function keepKnown(points: ReadonlyMap<string, Points>): void {
  for (const [key, found] of points) lastKnown.set(key, found);
  for (const key of [...lastKnown.keys()].slice(0, -MOST_KEPT)) lastKnown.delete(key);
}

interface FollowedSeries {
  /** By run and name: see `pointsKey`. */
  readonly points: ReadonlyMap<string, Points>;
  readonly isWaiting: boolean;
  /** Why there is nothing; empty where there is. */
  readonly refusal: string;
}

export function useSeries(wanted: readonly SeriesWanted[]): FollowedSeries {
  const source = store.source.value;
  // As text: a new list of the same series is no new question.
  const asked = JSON.stringify(wanted);
  const [found, setFound] = useState<FollowedSeries>(() => ({
    points: knownOf(wanted),
    isWaiting: true,
    refusal: "",
  }));
  useEffect(() => {
    if (source === null || wanted.length === 0) {
      setFound({ points: NOTHING, isWaiting: false, refusal: "" });
      return undefined;
    }
    let points = NOTHING;
    // What is known stays until the answer comes: most of it is what was asked for before.
    setFound((before) => ({ ...before, isWaiting: true }));
    return source.follow(
      {
        type: "series",
        wanted: JSON.parse(asked) as SeriesWanted[],
        axis: "step",
        low: null,
        high: null,
        num_buckets: NUM_BUCKETS,
      },
      {
        hear: (reply) => {
          points = withFrame(points, reply);
          keepKnown(points);
          setFound({ points, isWaiting: false, refusal: "" });
        },
        refuse: (reason) => setFound({ points, isWaiting: false, refusal: reason }),
      },
    );
  }, [source, asked]);
  return found;
}
