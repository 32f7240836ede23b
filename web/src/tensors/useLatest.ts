/** A tensor that stays on screen until the next one has come: what was known is never blanked. */
import { useEffect, useState } from "preact/hooks";
import type { AskableTensor } from "../inspector/subjects";
import type { TensorAnswer, TensorValues } from "../source/source";
import type { Window } from "../wire";

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
