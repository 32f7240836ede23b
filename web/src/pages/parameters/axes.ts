/** An axis of the parallel coordinates: where a value stands on it, and what stands at a place. */
import { formatTicks, linearTicks, logTicks } from "../../plot/ticks";
import type { Column, Value } from "./columns";

export type ScaleName = "linear" | "log" | "words";

export interface Tick {
  /** From 0 at the bottom to 1 at the top. */
  readonly place: number;
  readonly text: string;
}

export interface Axis {
  readonly column: Column;
  readonly scale: ScaleName;
  /** Can it be logarithmic? */
  readonly canBeLog: boolean;
  readonly ticks: readonly Tick[];
  /** From 0 to 1; null for what is not known. */
  place(value: Value | undefined): number | null;
  /** What a place means: the number there; on an axis of words the place itself. */
  unitAt(place: number): number;
  placeOfUnit(unit: number): number;
}

/** Values that spread over so many times the least of them are better seen on a logarithmic axis. */
const LOG_FROM = { hparam: 8, metric: 50 };

export function axisOf(column: Column, runIds: readonly string[], wanted: "linear" | "log" | null): Axis {
  const values = runIds
    .map((id) => column.values.get(id))
    .filter((value) => value !== undefined && value !== null);
  if (!column.isNumeric) return wordAxis(column, values);
  const numbers = values.filter((value) => typeof value === "number");
  const [low, high] = [least(numbers), most(numbers)];
  const canBeLog = numbers.length > 0 && low > 0;
  const isLog = canBeLog && (wanted === null ? high / low >= LOG_FROM[column.family] : wanted === "log");
  return isLog ? logAxis(column, low, high) : linearAxis(column, low, high, canBeLog);
}

function least(numbers: readonly number[]): number {
  return numbers.reduce((found, one) => Math.min(found, one), Infinity);
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((found, one) => Math.max(found, one), -Infinity);
}

/** Between two ends; in the middle where they are one. */
function share(value: number, low: number, high: number): number {
  return high > low ? (value - low) / (high - low) : 0.5;
}

function named(ticks: readonly number[], place: (tick: number) => number): Tick[] {
  return formatTicks(ticks).map((text, at) => ({ place: place(ticks[at]!), text }));
}

function linearAxis(column: Column, low: number, high: number, canBeLog: boolean): Axis {
  const ticks = named(linearTicks({ low, high }), (tick) => share(tick, low, high));
  const place = (value: Value | undefined): number | null =>
    typeof value === "number" && Number.isFinite(value) ? share(value, low, high) : null;
  const unitAt = (at: number): number => low + at * (high - low);
  return {
    column,
    scale: "linear",
    canBeLog,
    ticks,
    place,
    unitAt,
    placeOfUnit: (unit) => share(unit, low, high),
  };
}

function logAxis(column: Column, low: number, high: number): Axis {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  const place = (value: Value | undefined): number | null =>
    typeof value === "number" && value > 0 && Number.isFinite(value)
      ? share(Math.log10(value), from, to)
      : null;
  const ticks = named(low < high ? logTicks({ low, high }) : [low], (tick) => place(tick) ?? 0);
  return {
    column,
    scale: "log",
    canBeLog: true,
    ticks,
    place,
    unitAt: (at) => 10 ** (from + at * (to - from)),
    placeOfUnit: (unit) => (unit > 0 ? share(Math.log10(unit), from, to) : -1),
  };
}

const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function wordAxis(column: Column, values: readonly Value[]): Axis {
  const words = [...new Set(values.map(String))].sort(byName.compare);
  const placeOf = new Map(
    words.map((word, at) => [word, words.length === 1 ? 0.5 : 1 - at / (words.length - 1)]),
  );
  const every = Math.max(1, Math.ceil(words.length / 16));
  return {
    column,
    scale: "words",
    canBeLog: false,
    ticks: words
      .filter((_, at) => at % every === 0)
      .map((word) => ({ place: placeOf.get(word)!, text: word })),
    place: (value) => (value === undefined || value === null ? null : (placeOf.get(String(value)) ?? null)),
    unitAt: (place) => place,
    placeOfUnit: (unit) => unit,
  };
}
