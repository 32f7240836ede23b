/** What came of a tensor of a record, and its colours. */
import { useState } from "preact/hooks";
import type { TensorValues } from "../../data/source";
import { figureOf } from "../../plot/over-time";
import { extentOf } from "../../plot/scale";
import type { Latest } from "../../plot/tensor/useTensor";
import { autoScale, type Scale } from "../../ui/colour-scale";
import * as store from "./store";

export function valuesIn({ held }: Latest): TensorValues | null {
  return held !== null && "values" in held.answer ? held.answer : null;
}

/** Why there are no values; null where there are some, or may still come. */
export function missingIn({ held }: Latest): string | null {
  return held !== null && "missing" in held.answer ? held.answer.missing : null;
}

// --- The colours of a tensor: of its own values, of those at all steps, or between limits that were fixed.

interface Extremes {
  readonly min: number | null;
  readonly max: number | null;
}

interface ScaleState {
  readonly scale: Scale;
  readonly isAuto: boolean;
  readonly setFixed: (scale: Scale | null) => void;
}

export function useScale(own: Extremes): ScaleState {
  const [fixed, setFixed] = useState<Scale | null>(null);
  const extremes = store.isScaleShared.value ? extremesOfAll() : own;
  return { scale: fixed ?? autoScale(extremes), isAuto: fixed === null, setFixed };
}

/** Over all records of the series. */
function extremesOfAll(): Extremes {
  return widest(store.records.value.map(figureOf).filter((one) => one !== null));
}

export function widest(all: readonly Extremes[]): Extremes {
  const span = extentOf(all.map(({ min, max }) => [min ?? NaN, max ?? NaN]));
  return { min: span?.low ?? null, max: span?.high ?? null };
}
