/** Numbers that are easy to read on an axis, three to five of them. */
import { formatClock, groupDigits, withTrueMinus } from "../data/format";

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
  const values = integers(first, Math.min(last, first + 2 * MOST));
  // No negative nought.
  return values.map((at) => (isExact ? at / inverse : Number((at * step).toPrecision(12))) || 0);
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
    return integers(first, to, every).map((power) => Number(`1e${power}`));
  }
  for (const factors of [[1, 3], [1, 2, 5], [1, 2, 3, 5, 7]]) {
    const values = integers(from - 1, to + 1).flatMap((power) => factors.map((factor) => Number(`${factor}e${power}`)));
    const inside = values.filter((value) => value >= low * (1 - ROUNDING) && value <= high * (1 + ROUNDING));
    if (inside.length >= LEAST && inside.length <= MOST) return inside;
  }
  return linearTicks({ low, high });
}

export function integers(first: number, last: number, every = 1): number[] {
  const count = Math.max(0, Math.floor((last - first) / every) + 1);
  return Array.from({ length: count }, (_, at) => first + at * every);
}

/** From where on a unit is used, and what it stands for. Years and four digits stay as they are. */
const UNITS: readonly (readonly [from: number, scale: number, name: string])[] = [
  [1e12, 1e12, "T"],
  [1e9, 1e9, "G"],
  [1e6, 1e6, "M"],
  [1e4, 1e3, "k"],
];
/** A unit is for round numbers: with more decimals than this, all digits are easier to read. */
const MOST_DECIMALS = 2;
const ALL_DECIMALS = 12;
/** Numbers further apart than this are those of a logarithmic axis. */
const WIDE = 8;

/** `0`, `16k`, `0.04`, `11 608`, `2e−5`: with as many decimals as the one that needs most. */
export function formatTicks(values: readonly number[]): string[] {
  const sizes = values.filter((value) => value !== 0).map(Math.abs);
  const most = Math.max(0, ...sizes);
  // On a logarithmic axis each number may need a unit of its own.
  if (most > WIDE * Math.min(...sizes)) return values.map((value) => formatAlike([value], Math.abs(value))[0]!);
  return formatAlike(values, most);
}

function formatAlike(values: readonly number[], size: number): string[] {
  if (size > 0 && (size >= 1e15 || size < 1e-3)) return powersOf(values);
  const [, scale, name] = UNITS.find(([from]) => size >= from) ?? [0, 1, ""];
  const decimals = decimalsOf(values.map((value) => value / scale));
  if (name === "" || decimals <= MOST_DECIMALS) {
    return values.map((value) => (value === 0 ? "0" : `${fixed(value / scale, decimals)}${name}`));
  }
  const all = decimalsOf(values);
  return values.map((value) => (value === 0 ? "0" : grouped(fixed(value, all))));
}

function powersOf(values: readonly number[]): string[] {
  const parts = values.map((value) => {
    const [digits = "0", power = "0"] = value.toExponential(9).split("e");
    return [Number(digits), Number(power)] as const;
  });
  const decimals = decimalsOf(parts.map(([digits]) => digits));
  return parts.map(([digits, power]) => (digits === 0 ? "0" : `${fixed(digits, decimals)}e${withTrueMinus(String(power))}`));
}

/** The fewest decimals that leave all of them what they are. */
function decimalsOf(values: readonly number[]): number {
  const isKept = (value: number, decimals: number): boolean =>
    Math.abs(value - Number(value.toFixed(decimals))) <= 1e-10 * Math.abs(value);
  let decimals = 0;
  for (const value of values) while (decimals < ALL_DECIMALS && !isKept(value, decimals)) decimals += 1;
  return decimals;
}

function fixed(value: number, decimals: number): string {
  return withTrueMinus(value.toFixed(decimals));
}

/** 11608.5 → `11 608.5`. */
function grouped(text: string): string {
  const [whole = "", ...rest] = text.replace("\u2212", "-").split(".");
  return [groupDigits(whole), ...rest].join(".");
}

/** Of one number by itself, with four digits at the most: `16k`, `1.5M`, `0.25`. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  const [, scale, name] = UNITS.find(([, from]) => size >= from) ?? [0, 1, ""];
  if (name === "" || size >= 1e15) return formatTicks([Number(value.toPrecision(4))])[0]!;
  return withTrueMinus(`${Number((value / scale).toPrecision(4))}${name}`);
}

export interface Tick {
  readonly value: number;
  readonly label: string;
}

/** So many times as large they are written, with their unit. */
export function labelled(values: readonly number[], unit = "", factor = 1): Tick[] {
  const texts = formatTicks(values.map((value) => factor * value));
  return values.map((value, at) => ({ value, label: `${texts[at]!}${unit}` }));
}

// --- Ticks of time: seconds since the beginning, and the clock on the wall.

const THIN = "\u202f";
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 20, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * HOUR),
  ...[1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 60, 90, 120, 180, 365, 730, 1825].map((count) => count * DAY),
];

/** The smallest step with no more ticks than there is room for. */
function stepFor({ low, high }: Span): number | null {
  if (high - low < LEAST - 1) return null; // less than whole seconds
  const fits = (step: number): boolean => Math.floor(high / step) - Math.ceil(low / step) + 1 <= MOST;
  return TIME_STEPS.find(fits) ?? null;
}

function places({ low, high }: Span, step: number): number[] {
  return integers(Math.ceil(low / step), Math.floor(high / step)).map((at) => at * step);
}

export function durationTicks(span: Span): Tick[] {
  const step = stepFor(span);
  if (step === null) return labelled(linearTicks(span), `${THIN}s`);
  const [unit, name] = step >= DAY ? [DAY, "d"] : step >= HOUR ? [HOUR, "h"] : step >= MINUTE ? [MINUTE, "min"] : [1, "s"];
  return places(span, step).map((value) => ({ value, label: value === 0 ? "0" : `${value / unit}${THIN}${name}` }));
}

/** Seconds since 1970, told in the time of this place. */
export function clockTicks(span: Span): Tick[] {
  const offset = -60 * new Date(span.low * 1000).getTimezoneOffset();
  const local: Span = { low: span.low + offset, high: span.high + offset };
  const step = stepFor(local);
  if (step === null) {
    return linearTicks(local).map((value) => ({ value: value - offset, label: clock(value - offset, true) }));
  }
  return places(local, step).map((place) => {
    const value = place - offset;
    const isDay = place % DAY === 0;
    return { value, label: isDay ? day(value, step >= 365 * DAY) : clock(value, step < MINUTE) };
  });
}

function clock(seconds: number, hasSeconds: boolean): string {
  return formatClock(seconds * 1000).slice(0, hasSeconds ? 8 : 5);
}

function day(seconds: number, hasYear: boolean): string {
  const date = new Date(seconds * 1000);
  return date.toLocaleDateString("en", hasYear ? { year: "numeric", month: "short" } : { month: "short", day: "numeric" });
}

/** A length of time: `48 s`, `5 min 12 s`, `3 h 20 min`, `2 d 4 h`. */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return `\u2212${formatDuration(-seconds)}`;
  if (seconds < MINUTE) return `${Number(seconds.toPrecision(3))}${THIN}s`;
  const units: [number, string][] = [
    [DAY, "d"],
    [HOUR, "h"],
    [MINUTE, "min"],
    [1, "s"],
  ];
  const first = units.findIndex(([unit]) => seconds >= unit);
  const [[unit, name], [smaller, small]] = [units[first]!, units[first + 1]!];
  const rest = Math.floor((seconds % unit) / smaller);
  const whole = `${Math.floor(seconds / unit)}${THIN}${name}`;
  return rest === 0 ? whole : `${whole} ${rest}${THIN}${small}`;
}

/** A moment: `Nov 16 14:02:31`. */
export function formatMoment(seconds: number): string {
  return `${day(seconds, false)} ${clock(seconds, true)}`;
}
