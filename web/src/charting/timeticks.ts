/** Ticks of time: seconds since the beginning, and the clock on the wall. */
import { linearTicks, type Span } from "./numberticks";
import { formatTicks } from "./tickwords";

export interface Tick {
  readonly value: number;
  readonly label: string;
}

const THIN = "\u202f";
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const STEPS = [
  ...[1, 2, 5, 10, 15, 20, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * HOUR),
  ...[1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 60, 90, 120, 180, 365, 730, 1825].map((count) => count * DAY),
];
const MOST = 5;
const LEAST = 3;

/** The smallest step with no more ticks than there is room for. */
function stepFor({ low, high }: Span): number | null {
  if (high - low < LEAST - 1) return null; // less than whole seconds
  const fits = (step: number): boolean => Math.floor(high / step) - Math.ceil(low / step) + 1 <= MOST;
  return STEPS.find(fits) ?? null;
}

function places({ low, high }: Span, step: number): number[] {
  const found: number[] = [];
  for (let at = Math.ceil(low / step); at <= Math.floor(high / step); at++) found.push(at * step);
  return found;
}

export function durationTicks(span: Span): Tick[] {
  const step = stepFor(span);
  if (step === null) {
    const values = linearTicks(span);
    return formatTicks(values).map((label, at) => ({ value: values[at]!, label: `${label}${THIN}s` }));
  }
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
  const date = new Date(seconds * 1000);
  const parts = [date.getHours(), date.getMinutes(), ...(hasSeconds ? [date.getSeconds()] : [])];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
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
