/** A tensor of a record while it is asked for, and its colours. */
import { useEffect, useState } from "preact/hooks";
import type { TensorAnswer, TensorValues } from "../../data/source";
import { figureOf } from "../../plot/over-time";
import type { AskableTensor } from "../../plot/tensor/subjects";
import { autoScale, type Scale } from "../../ui/colour-scale";
import type { Window } from "../../wire";
import * as store from "./store";

// --- A tensor that stays on screen until the next one has come: what was known is never blanked.

export interface Latest {
  /** With the tensor that it belongs to; null until the first one came. */
  readonly held: { readonly subject: AskableTensor; readonly answer: TensorAnswer } | null;
  readonly isPending: boolean;
}

/** Asks with the window, with null for a first look, or with undefined for nothing. */
export function useLatest(subject: AskableTensor | null, window: Window | null | undefined): Latest {
  const question = subject === null || window === undefined ? "" : JSON.stringify([subject.key, window]);
  const [held, setHeld] = useState<{ question: string; subject: AskableTensor; answer: TensorAnswer } | null>(null);
  useEffect(() => {
    if (subject === null || window === undefined) return undefined;
    let isWanted = true;
    void subject.ask(window).then((answer) => {
      if (isWanted) setHeld({ question, subject, answer });
    });
    return () => {
      isWanted = false;
    };
  }, [question]);
  return { held, isPending: question !== "" && held?.question !== question };
}

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
  const lows = all.map(({ min }) => min).filter((one) => one !== null);
  const highs = all.map(({ max }) => max).filter((one) => one !== null);
  return {
    min: lows.length === 0 ? null : Math.min(...lows),
    max: highs.length === 0 ? null : Math.max(...highs),
  };
}
