/** Ask for a tensor and hand back what there is. What was known stays until the next has come: nothing is ever blanked. */
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../../data/message-of";
import type { TensorAnswer, TensorValues } from "../../data/source";
import * as store from "../../data/store";
import { crop, gridOf, stepItem } from "../../data/tensor-window";
import { useAsked } from "../../data/useAsked";
import type { TensorView, Window } from "../../wire";
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

export function valuesIn({ held }: Latest<AnyTensor>): TensorValues | null {
  return held !== null && "values" in held.answer ? held.answer : null;
}

/** Why there are no values; null where there are some, or may still come. */
export function missingIn({ held }: Latest<AnyTensor>): string | null {
  return held !== null && "missing" in held.answer ? held.answer.missing : null;
}

/** Item by item: which one of a batch is looked at stays while steps change, as long as the tensor has it. */
export function useItem() {
  const [item, setItem] = useState<readonly number[] | null>(null);
  return {
    itemOf: (view: TensorView) => fitting(item, view),
    // From the newest item, not the one on screen: quick steps are all taken.
    step: (view: TensorView, by: number) =>
      setItem((before) => stepItem(gridOf(view.shape).itemShape, fitting(before, view), by) ?? before),
  };
}

/** The item that is wanted, or the one of the first look where the tensor has no such item. */
export function fitting(item: readonly number[] | null, { shape, window }: TensorView): readonly number[] {
  const { itemShape } = gridOf(shape);
  const fits = item?.length === itemShape.length && item.every((at, dim) => at < itemShape[dim]!);
  return item !== null && fits ? item : window.item;
}

/** A tensor as it comes first, and one of its items in the same window: what came last, and the answer if it is there. */
export function useItemOf<Tensor extends AnyTensor>(subject: Tensor | null) {
  const choice = useItem();
  const first = useLatest(subject, null);
  const whole = valuesIn(first);
  const item = whole === null ? [] : choice.itemOf(whole.view);
  const isFirst = whole === null || item.join() === whole.view.window.item.join();
  const moved = useLatest(subject, isFirst ? undefined : { ...whole.view.window, item: [...item] });
  const step = (by: number): void => {
    if (whole !== null) choice.step(whole.view, by);
  };
  const shown = isFirst ? first : moved;
  return { first, whole, item, shown, answer: shown.isPending ? null : (shown.held?.answer ?? null), step };
}

// --- A part of an item, of which some may be there already.

export interface Shown {
  /** The newest values of this tensor that came, of the window asked for or, while that is under way, of the one before. */
  readonly values: TensorValues | null;
  readonly missing: string | null;
  readonly isPending: boolean;
}

/** A window of a tensor of which a part is there already. */
export function useWindow(subject: AnyTensor, base: TensorValues, window: Window): Shown {
  const local = crop(base, window);
  const asked = useLatest(subject, local === null ? window : undefined);
  const isAnswered = local === null && !asked.isPending;
  const [last, setLast] = useState<TensorValues | null>(null);
  const now = isAnswered ? valuesIn(asked) : local;
  useEffect(() => {
    if (now !== null) setLast(now);
  }, [JSON.stringify(now?.view.window)]);
  const missing = isAnswered ? missingIn(asked) : null;
  return { values: now ?? last, missing, isPending: now === null && missing === null };
}
