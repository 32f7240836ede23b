/** Lines for a small chart: what they are, what limits they need, where they run. */

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
