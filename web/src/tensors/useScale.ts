/** The colours of a tensor: of its own values, of those at all steps, or between limits that were fixed. */
import { useState } from "preact/hooks";
import { autoScale, type Scale } from "../tensor/colour";
import { figureOf } from "./overtime";
import * as store from "./store";

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
  const lows = all.map(({ min }) => min).filter((one) => one !== null);
  const highs = all.map(({ max }) => max).filter((one) => one !== null);
  return {
    min: lows.length === 0 ? null : Math.min(...lows),
    max: highs.length === 0 ? null : Math.max(...highs),
  };
}
