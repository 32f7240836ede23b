/** Lines and bands as paths, on a canvas or in SVG; and which of their points is nearest to a place. */
import { extentOf, roomy } from "./scale";
import type { Span } from "./ticks";

export type LineEnd = "none" | "dot" | "cross" | "open";

export interface Line {
  readonly name: string;
  readonly colour: string;
  readonly x: ArrayLike<number>;
  /** NaN and infinity are gaps. */
  readonly y: ArrayLike<number>;
  /** A band around it. */
  readonly low?: ArrayLike<number>;
  readonly high?: ArrayLike<number>;
  /** Of the band, where it is not that of all bands. */
  readonly opacity?: number;
  /** The values before they were smoothed: drawn pale behind the line. */
  readonly raw?: ArrayLike<number>;
  readonly end: LineEnd;
  /** A line with dashes, or one that is a limit and quiet. */
  readonly look?: "dashed" | "limit";
}

/** How much of a line, at either end of its values, may lie outside: one bad point would flatten all others. */
const OUTSIDE = 0.02;

/** The range of all lines along the horizontal axis; null where there is no point. */
export function xLimits(lines: readonly Pick<Line, "x">[]): Span | null {
  const span = extentOf(lines.map(({ x }) => x));
  return span?.low === span?.high && span !== null ? { low: span.low - 0.5, high: span.high + 0.5 } : span;
}

/**
 * The range of all values, with zero where it is near. Where it may be cut, that of nearly all values of each line,
 * and of lines that did not end badly, if there are such: what explodes would flatten all others.
 */
export function yLimits(lines: readonly Line[], isCut: boolean): Span | null {
  const good = lines.filter(({ end, y }) => end !== "cross" && Array.from(y).filter(Number.isFinite).length > 1);
  const columns = isCut
    ? (good.length > 0 ? good : lines).map(({ y }) => middleOf(y))
    : lines.flatMap(({ y, low = [], high = [] }) => [y, low, high]);
  const span = extentOf(columns);
  return span === null ? null : roomy(span);
}

/** Without the least and the greatest few. Where a line begins is no outlier: a loss is at its highest there. */
function middleOf(y: ArrayLike<number>): readonly number[] {
  const values = Array.from(y).filter(Number.isFinite);
  const sorted = [...values].sort((a, b) => a - b);
  const cut = values.length >= 10 ? Math.floor(OUTSIDE * values.length) : 0;
  return [...values.slice(0, 1), ...sorted.slice(cut, sorted.length - cut)];
}

// --- Drawn with any pen.

export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  closePath(): void;
}

/** The path that is drawn as text, to a hundredth of a pixel. */
export function pathOf(draw: (pen: Pen) => void): string {
  let path = "";
  draw({
    moveTo: (x, y) => (path += `M${short(x)} ${short(y)}`),
    lineTo: (x, y) => (path += `L${short(x)} ${short(y)}`),
    closePath: () => (path += "Z"),
  });
  return path;
}

export function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

type Place = (value: number) => number;

/** Far outside, numbers become too large for a canvas; nothing is seen there anyway. */
const FAR = 1e5;

export function kept(place: number): number {
  return Math.max(-FAR, Math.min(FAR, place));
}

/** A line through all finite values from one item up to another, with gaps where there is none. A value alone is a dot. */
export function traceLine(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  toX: Place,
  toY: Place,
  pen: Pick<Pen, "moveTo" | "lineTo">,
  first = 0,
  end = y.length,
): void {
  let numJoined = 0;
  let last: readonly [number, number] = [0, 0];
  const lift = (): void => {
    // A round end makes a dot of the shortest line.
    if (numJoined === 1) pen.lineTo(last[0] + 0.01, last[1]);
    numJoined = 0;
  };
  for (let at = first; at < end; at++) {
    const [across, up] = [toX(x[at]!), toY(y[at]!)];
    if (!Number.isFinite(across) || !Number.isFinite(up)) {
      lift();
      continue;
    }
    last = [kept(across), kept(up)];
    if (numJoined === 0) pen.moveTo(...last);
    else pen.lineTo(...last);
    numJoined += 1;
  }
  lift();
}

/** The area between the lowest and the highest of each item, in pieces where there are gaps. */
export function traceBand(
  x: ArrayLike<number>,
  low: ArrayLike<number>,
  high: ArrayLike<number>,
  toX: Place,
  toY: Place,
  pen: Pen,
  first = 0,
  end = x.length,
): void {
  let piece: (readonly [x: number, low: number, high: number])[] = [];
  const close = (): void => {
    if (piece.length > 1) {
      piece.forEach(([across, , upper], at) => (at === 0 ? pen.moveTo(across, upper) : pen.lineTo(across, upper)));
      for (const [across, lower] of piece.reverse()) pen.lineTo(across, lower);
      pen.closePath();
    }
    piece = [];
  };
  for (let at = first; at < end; at++) {
    const [across, lower, upper] = [toX(x[at]!), toY(low[at]!), toY(high[at]!)];
    if (Number.isFinite(across + lower + upper)) piece.push([kept(across), kept(lower), kept(upper)]);
    else close();
  }
  close();
}

export function linePath({ x, y }: Pick<Line, "x" | "y">, toX: Place, toY: Place): string {
  return pathOf((pen) => traceLine(x, y, toX, toY, pen));
}

export function bandPath({ x, low, high }: Pick<Line, "x" | "low" | "high">, toX: Place, toY: Place): string {
  return low === undefined || high === undefined ? "" : pathOf((pen) => traceBand(x, low, high, toX, toY, pen));
}

/** The point nearest to a place; -1 where the line is further away than the tolerance. */
export function nearest(x: ArrayLike<number>, place: number, tolerance = Infinity): number {
  if (x.length === 0) return -1;
  const before = lastUpTo(x, place);
  // Between two points there is always a value; beyond the ends only nearby.
  if (before < 0) return x[0]! - place <= tolerance ? 0 : -1;
  if (before === x.length - 1) return place - x[before]! <= tolerance ? before : -1;
  return place - x[before]! <= x[before + 1]! - place ? before : before + 1;
}

/** The last point that is not after a place; -1 where there is none. */
export function lastUpTo(x: ArrayLike<number>, place: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value at the point nearest to a place; null outside of the line, or in a gap. */
export function valueNear({ x, y }: Pick<Line, "x" | "y">, place: number): number | null {
  const value = y[nearest(x, place, 0)] ?? NaN;
  return Number.isFinite(value) ? value : null;
}

/** The last point that has a value; -1 where none has. */
export function lastFinite(values: ArrayLike<number>): number {
  for (let at = values.length - 1; at >= 0; at--) if (Number.isFinite(values[at])) return at;
  return -1;
}
