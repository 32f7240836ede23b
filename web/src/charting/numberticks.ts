/** Numbers that are easy to read on an axis, three to five of them. */

/** A part of an axis, in its own unit. */
export interface Span {
  readonly low: number;
  readonly high: number;
}

const LEAST = 3;
const MOST = 5;
/** Steps of a decade, and how much less welcome each is than the plain ones. */
const STEPS: readonly (readonly [number, number])[] = [
  [1, 0],
  [1.5, 0.15],
  [2, 0],
  [2.5, 0.04],
  [4, 0.04],
  [5, 0],
  [8, 0.06],
];
const ROUNDING = 1e-9;
/** More room than this share, only to end at ticks, is too much. */
const MAX_WASTE = 0.16;
const PADDING = 0.04;

/** The steps that might suit a range of this size. */
function stepsFor(size: number): [step: number, penalty: number][] {
  const decade = Math.floor(Math.log10(size));
  const found: [number, number][] = [];
  for (const power of [decade - 1, decade]) {
    for (const [factor, penalty] of STEPS) found.push([power < 0 ? factor / 10 ** -power : factor * 10 ** power, penalty]);
  }
  return found;
}

function multiples(low: number, high: number, step: number): number[] {
  const [first, last] = [Math.ceil(low / step - ROUNDING), Math.floor(high / step + ROUNDING)];
  // One division or multiplication each, so that 3 × 0.1 is 0.3.
  const inverse = Math.round(1 / step);
  const isExact = Math.abs(inverse * step - 1) < ROUNDING;
  const values: number[] = [];
  for (let at = first; at <= last && values.length <= 2 * MOST; at++) {
    values.push(isExact ? at / inverse : Number((at * step).toPrecision(12)));
  }
  return values.map((value) => (value === 0 ? 0 : value));
}

/** A little wider than the data, so that it begins and ends at ticks where that takes little room. */
export function niceSpan({ low, high }: Span): Span {
  if (!(high > low) || !Number.isFinite(high - low)) return { low, high };
  let best: { span: Span; cost: number } | null = null;
  for (const [step, penalty] of stepsFor(high - low)) {
    const [from, to] = [Math.floor(low / step + ROUNDING), Math.ceil(high / step - ROUNDING)];
    const count = to - from + 1;
    if (count < LEAST || count > MOST) continue;
    const span = { low: Number((from * step).toPrecision(12)), high: Number((to * step).toPrecision(12)) };
    const waste = 1 - (high - low) / (span.high - span.low);
    const cost = waste + penalty;
    if (waste <= MAX_WASTE && (best === null || cost < best.cost)) best = { span, cost };
  }
  if (best !== null) return best.span;
  const room = PADDING * (high - low);
  // What is never negative has no room below nought.
  return { low: low >= 0 ? Math.max(0, low - room) : low - room, high: high <= 0 ? Math.min(0, high + room) : high + room };
}

/** No more than so many; an axis without extent has its one value. */
export function linearTicks(span: Span, most = MOST): number[] {
  const { low, high } = span;
  if (low === high && Number.isFinite(low)) return [low];
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  return bestTicks(span, most) ?? [low, high];
}

function bestTicks({ low, high }: Span, most: number): number[] | null {
  let best: { values: number[]; cost: number } | null = null;
  for (const [step, penalty] of stepsFor(high - low)) {
    const values = multiples(low, high, step);
    if (values.length < Math.min(LEAST, most - 1) || values.length > most) continue;
    // More ticks are better than few, and best where they stand at the ends.
    const cost = penalty + 0.05 * (most - values.length) - 0.1 * numAtEnds(values, low, high);
    if (best === null || cost < best.cost) best = { values, cost };
  }
  return best?.values ?? null;
}

function numAtEnds(values: readonly number[], low: number, high: number): number {
  return [values[0]! - low, high - values.at(-1)!].filter((gap) => gap < ROUNDING * (high - low)).length;
}

/** Powers of ten, or steps between them where there are too few. */
export function logTicks({ low, high }: Span): number[] {
  const [from, to] = [Math.ceil(Math.log10(low) - ROUNDING), Math.floor(Math.log10(high) + ROUNDING)];
  if (to - from + 1 >= LEAST) {
    const every = Math.ceil((to - from + 1) / MOST);
    const first = Math.ceil(from / every) * every;
    return powers(first, to, every);
  }
  for (const factors of [[1, 3], [1, 2, 5], [1, 2, 3, 5, 7]]) {
    const values: number[] = [];
    for (let power = from - 1; power <= to + 1; power++) {
      for (const factor of factors) values.push(Number(`${factor}e${power}`));
    }
    const inside = values.filter((value) => value >= low * (1 - ROUNDING) && value <= high * (1 + ROUNDING));
    if (inside.length >= LEAST && inside.length <= MOST) return inside;
  }
  return linearTicks({ low, high });
}

function powers(first: number, last: number, every: number): number[] {
  const values: number[] = [];
  for (let power = first; power <= last; power += every) values.push(Number(`1e${power}`));
  return values;
}
