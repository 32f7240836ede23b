/** The records of a series, asked for again whenever it has more. */
import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { AskableTensor } from "../inspector/subjects";
import * as runs from "../runs/store";
import type { Source, TensorAnswer, TensorValues } from "../source/source";
import { autoScale, type Scale } from "../tensor/colour-scale";
import type { RecordKind, RecordListing, Window } from "../wire";
import { figureOf } from "./overtime";
import * as store from "./store";

export interface SeriesPlace {
  readonly runId: string;
  readonly kind: RecordKind;
  readonly name: string;
}

export interface RecordList {
  readonly place: SeriesPlace;
  readonly records: readonly RecordListing[];
  /** How many there are, where not all are listed. */
  readonly numAll: number;
}

/** More would be more than a slider has places for. */
export const MOST_RECORDS = 1000;
/** How long to wait before the list is asked for again. */
const PAUSE_MS = 1000;

export function placeKey({ runId, kind, name }: SeriesPlace): string {
  return `${kind} ${runId} ${name}`;
}

/** Call what it returns to stop. The answer to an older wish is not heard. */
export function followRecordList(
  source: Source,
  wanted: () => SeriesPlace | null,
  hear: (list: RecordList) => void,
  fail: (reason: string) => void,
): () => void {
  let asked = "";
  let place = "";
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    const next = wanted();
    if (next === null) return;
    const series = runs.seriesOf(next.runId, next.kind, next.name);
    if (series === undefined) return;
    const version = `${placeKey(next)} ${series.count} ${series.last_step} ${series.last_time}`;
    if (version === asked) return;
    asked = version;
    const isOther = place !== placeKey(next);
    place = placeKey(next);
    clearTimeout(timer);
    const askNow = (): void => {
      last = performance.now();
      const { runId: run_id, kind, name } = next;
      source.ask({ type: "records", run_id, kind, name, most: MOST_RECORDS }).then(
        ({ answer }) => {
          if (answer.type === "records" && place === placeKey(next))
            hear({ place: next, records: answer.records, numAll: answer.num_all });
        },
        (reason: unknown) => {
          if (place === placeKey(next)) fail(reason instanceof Error ? reason.message : String(reason));
        },
      );
    };
    timer = setTimeout(askNow, isOther ? 0 : Math.max(0, PAUSE_MS - (performance.now() - last)));
  });
  return () => {
    clearTimeout(timer);
    place = "";
    stop();
  };
}

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
