/** Ask for a tensor and hand back what there is. What was known stays until the next has come: nothing is ever blanked. */
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../../data/message-of";
import type { TensorAnswer, TensorValues } from "../../data/source";
import * as store from "../../data/store";
import { crop } from "../../data/tensor-window";
import { useAsked } from "../../data/useAsked";
import type { Window } from "../../wire";
import type { AnyTensor, AskableTensor } from "./subjects";

export interface Latest<Tensor extends AnyTensor = AskableTensor> {
  /** With the tensor that it belongs to; null until the first one came. */
  readonly held: { readonly subject: Tensor; readonly answer: TensorAnswer } | null;
  readonly isPending: boolean;
}

/** Asks with the window, with null for a first look, or with undefined for nothing. */
export function useLatest<Tensor extends AnyTensor>(subject: Tensor | null, window: Window | null | undefined): Latest<Tensor> {
  const key = subject === null || window === undefined ? "" : JSON.stringify([keyOf(subject), window]);
  const ask = async () => ({ subject: subject!, answer: await askFor(subject!, window!) });
  const { value: held, key: heldKey } = useAsked(key === "" ? null : { key, version: "", ask });
  return { held, isPending: key !== "" && heldKey !== key };
}

function keyOf(subject: AnyTensor): string {
  return "ask" in subject ? subject.key : `${store.passId.value ?? ""} ${subject.kind} ${subject.index}`;
}

/** A tensor of the pass that is open, or one that knows where it is from. */
async function askFor(subject: AnyTensor, window: Window | null): Promise<TensorAnswer> {
  try {
    if ("ask" in subject) return await subject.ask(window);
    return await store.source.peek()!.tensor(store.passId.peek()!, subject.kind, subject.index, window);
  } catch (reason) {
    return { missing: messageOf(reason) };
  }
}

/** The answer to one question; null while it is under way. Ask with undefined to ask nothing. */
export function useTensor(subject: AnyTensor, window: Window | null | undefined): TensorAnswer | null {
  const { held, isPending } = useLatest(subject, window);
  return window === undefined || isPending ? null : (held?.answer ?? null);
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
