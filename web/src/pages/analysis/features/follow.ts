/** Ask for something that takes its time: hear how far it is, take pieces as they come, stop when it is not wanted. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Asked, Reply } from "../../../data/source";
import * as page from "../../../data/store";

/** What an answer brings. */
export interface Piece<Value> {
  /** All that is there by now; null where there is nothing yet. */
  readonly value: Value | null;
  readonly progress: number;
  readonly note: string;
  readonly isDone: boolean;
}

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

interface State<Value> {
  readonly value: Value | null;
  readonly key: string;
  readonly progress: number | null;
  readonly since: number;
  readonly note: string;
  readonly problem: string;
  readonly isCancelled: boolean;
}

const NOTHING = { value: null, key: "", progress: null, since: 0, note: "", problem: "", isCancelled: false };

/** Null asks for nothing. `take` is given what has come of the same question before. */
export function useFollowed<Value>(
  question: Asked | null,
  take: (reply: Reply, before: Value | null) => Piece<Value>,
): Followed<Value> {
  const [state, setState] = useState<State<Value>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const stop = useRef<() => void>(() => undefined);
  const key = question === null ? "" : JSON.stringify(question);
  const source = page.source.value;
  useEffect(() => {
    if (question === null || source === null) return undefined;
    let own: Value | null = null;
    const begin = { progress: 0, since: Date.now(), note: "", problem: "", isCancelled: false };
    setState((before) => ({ ...before, ...begin }));
    stop.current = source.follow(question, {
      hear: (reply) => {
        try {
          const piece = take(reply, own);
          own = piece.value;
          if (piece.isDone) stop.current();
          setState((before) => ({
            ...before,
            ...(own === null ? {} : { value: own, key }),
            progress: piece.isDone ? null : piece.progress,
            note: piece.note,
          }));
        } catch (reason) {
          stop.current();
          setState((before) => ({ ...before, progress: null, problem: textOf(reason) }));
        }
      },
      refuse: (problem) => setState((before) => ({ ...before, progress: null, problem })),
    });
    return () => stop.current();
  }, [key, turn, source]);
  const cancel = (): void => {
    stop.current();
    setState((before) => ({ ...before, progress: null, isCancelled: true }));
  };
  return { ...state, isOwn: state.value !== null && state.key === key, retry: () => setTurn((one) => one + 1), cancel };
}

function textOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
