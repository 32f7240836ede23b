/** Ask the source for a tensor and hand back what there is, at once where it is known already. */
import { useEffect, useState } from "preact/hooks";
import type { TensorAnswer, TensorValues } from "../../data/source";
import * as store from "../../data/store";
import { crop } from "../../data/tensor-window";
import type { Window } from "../../wire";
import type { AnyTensor } from "./subjects";

/** The answer to one question; null while it is under way. Ask with undefined to ask nothing. */
export function useTensor(subject: AnyTensor, window: Window | null | undefined): TensorAnswer | null {
  const which = "ask" in subject ? [subject.key] : [store.passId.value, subject.kind, subject.index];
  const question = window === undefined ? "" : JSON.stringify([...which, window]);
  const [held, setHeld] = useState<{ question: string; answer: TensorAnswer } | null>(null);
  useEffect(() => {
    const answering = window === undefined ? null : ask(subject, window);
    if (answering === null) return undefined;
    let isWanted = true;
    answering.then(
      (answer) => {
        if (isWanted) setHeld({ question, answer });
      },
      (reason: unknown) => {
        if (isWanted) setHeld({ question, answer: { missing: String(reason) } });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [question]);
  return held?.question === question ? held.answer : null;
}

/** A tensor of the pass that is open, or one that knows where it is from. Null where there is nobody to ask. */
function ask(subject: AnyTensor, window: Window | null): Promise<TensorAnswer> | null {
  if ("ask" in subject) return subject.ask(window);
  const [source, pass] = [store.source.peek(), store.passId.peek()];
  return source === null || pass === null ? null : source.tensor(pass, subject.kind, subject.index, window);
}

export interface Shown {
  /** The newest values of this tensor that came, of the window asked for or, while that is under way, of the one before. */
  readonly values: TensorValues | null;
  readonly missing: string | null;
  readonly isPending: boolean;
}

/** A window of a tensor of which a part is there already. */
export function useWindow(subject: AnyTensor, base: TensorValues, window: Window): Shown {
  const local = crop(base, window);
  const answer = useTensor(subject, local === null ? window : undefined);
  const [last, setLast] = useState<TensorValues | null>(null);
  const now = local ?? (answer !== null && "values" in answer ? answer : null);
  useEffect(() => {
    if (now !== null) setLast(now);
  }, [JSON.stringify(now?.view.window)]);
  const missing = answer !== null && "missing" in answer ? answer.missing : null;
  return { values: now ?? last, missing, isPending: now === null && missing === null };
}
