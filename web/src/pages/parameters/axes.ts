/** An axis of the parallel coordinates: where a value stands on it, and what stands at a place. */
import * as scales from "../../plot/scale";
import type { Tick } from "../../plot/ticks";
import { byName } from "../../ui/sorting";
import type { Column, Value } from "./columns";

export interface Axis {
  readonly column: Column;
  readonly scale: "linear" | "log" | "words";
  /** Can it be logarithmic? */
  readonly canBeLog: boolean;
  /** At places from 0 at the bottom to 1 at the top. */
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
  const span = scales.extentOf([values.filter((value) => typeof value === "number")]) ?? { low: 0, high: 0 };
  const canBeLog = span.low > 0;
  const isLog = canBeLog && (wanted === null ? span.high / span.low >= LOG_FROM[column.family] : wanted === "log");
  const scale = { ...span, isLog };
  const place = (value: Value | undefined): number | null => {
    const share = typeof value === "number" ? scales.shareOf(scale, value) : NaN;
    return Number.isFinite(share) ? share : null;
  };
  return {
    column,
    scale: isLog ? "log" : "linear",
    canBeLog,
    ticks: scales.axisOf(scale).ticks.map(({ value, label }) => ({ value: place(value) ?? 0, label })),
    place,
    unitAt: (at) => scales.valueAtShare(scale, at),
    placeOfUnit: (unit) => place(unit) ?? -1,
  };
}

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
    ticks: words.filter((_, at) => at % every === 0).map((label) => ({ value: placeOf.get(label)!, label })),
    place: (value) => (value === undefined || value === null ? null : (placeOf.get(String(value)) ?? null)),
    unitAt: (place) => place,
    placeOfUnit: (unit) => unit,
  };
}
