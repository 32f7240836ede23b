/** Ask for something that takes its time: hear how far it is, take pieces as they come, stop when it is not wanted. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReplyOf } from "../../../data/requests";
import type { Asked } from "../../../data/source";
import * as page from "../../../data/store";
import type { Answer } from "../../../wire";

export interface Followed<Value> {
  /** The last that came, also of what was asked before. */
  readonly value: Value | null;
  /** Is it the answer to what is asked now, whole or in part? */
  readonly isOwn: boolean;
  /** From 0 to 1; null where nothing is being done. */
  readonly progress: number | null;
  readonly since: number;
  readonly note: string;
  readonly problem: string;
  readonly isCancelled: boolean;
  readonly retry: () => void;
  readonly cancel: () => void;
}

type State<Value> = Omit<Followed<Value>, "isOwn" | "retry" | "cancel"> & { readonly key: string };

const NOTHING = { value: null, key: "", progress: null, since: 0, note: "", problem: "", isCancelled: false };

/** Answers that say how far they are. */
type Kind = Extract<Answer, { progress: number; is_done: boolean }>["type"] & Asked["type"];

/** Null asks for nothing. `take` is given what has come of the same question before; null is nothing yet. */
export function useFollowed<Type extends Kind, Value>(
  type: Type,
  own: Omit<Extract<Asked, { type: Type }>, "type"> | null,
  take: (reply: ReplyOf<Type>, before: Value | null) => Value | null,
): Followed<Value> {
  const [state, setState] = useState<State<Value>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const stop = useRef<() => void>(() => undefined);
  const key = own === null ? "" : JSON.stringify(own);
  const source = page.source.value;
  useEffect(() => {
    if (own === null || source === null) return undefined;
    let mine: Value | null = null;
    const begin = { progress: 0, since: Date.now(), note: "", problem: "", isCancelled: false };
    const fail = (problem: string): void => setState((before) => ({ ...before, progress: null, problem }));
    setState((before) => ({ ...before, ...begin }));
    stop.current = source.follow({ type, ...own } as unknown as Asked, {
      hear: (reply) => {
        if (reply.answer.type !== type) return;
        const { progress, note, is_done: isDone } = reply.answer;
        try {
          mine = take(reply as ReplyOf<Type>, mine);
          setState((before) => ({ ...before, ...(mine === null ? {} : { value: mine, key }), progress: isDone ? null : progress, note }));
          if (isDone) stop.current();
        } catch (reason) {
          stop.current();
          fail(reason instanceof Error ? reason.message : String(reason));
        }
      },
      refuse: fail,
    });
    return () => stop.current();
  }, [key, turn, source]);
  const cancel = (): void => {
    stop.current();
    setState((before) => ({ ...before, progress: null, isCancelled: true }));
  };
  return { ...state, isOwn: state.value !== null && state.key === key, retry: () => setTurn((one) => one + 1), cancel };
}
