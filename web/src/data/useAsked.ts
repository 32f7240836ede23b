/** Ask for something while it is wanted, and again when there is news of it; what came before stays meanwhile. */
import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../wire";
import { askOf, Desk, type Held, type ReplyOf, type Wanted } from "./requests";
import type { Asked as Question } from "./source";

export interface Asked<Value> extends Held<Value> {
  readonly retry: () => void;
}

export function useAsked<Value>(wanted: Wanted<Value> | null): Asked<Value> {
  const [held, setHeld] = useState<Held<Value>>({ value: null, key: "", problem: "" });
  const desk = useRef<Desk<Value> | null>(null);
  useEffect(() => {
    desk.current = new Desk(setHeld);
    return () => desk.current?.close();
  }, []);
  useEffect(() => desk.current?.want(wanted), [wanted?.key, wanted?.version]);
  return { ...held, retry: () => desk.current?.retry() };
}

/** What was asked, the answer, and what was taken out of its bytes. */
export interface Replied<Type extends Answer["type"], Data> {
  readonly own: Extract<Question, { type: Type }>;
  readonly head: ReplyOf<Type>["answer"];
  readonly data: Data;
}

/** A question is its own key; null asks for nothing. */
export function useReply<Type extends Question["type"] & Answer["type"], Data>(
  type: Type,
  about: Omit<Extract<Question, { type: Type }>, "type"> | null,
  take: (reply: ReplyOf<Type>) => Data,
  version = "",
): Asked<Replied<Type, Data>> & { readonly isOwn: boolean } {
  const own = { type, ...about } as unknown as Extract<Question, { type: Type }>;
  const ask = async (): Promise<Replied<Type, Data>> => {
    const reply = await askOf(own, type);
    return { own, head: reply.answer, data: take(reply) };
  };
  const key = JSON.stringify(own);
  const asked = useAsked(about === null ? null : { key, version, ask });
  return { ...asked, isOwn: about !== null && asked.key === key };
}

/** The same as `useAsked` outside of a component, by the signals that `wanted` reads. Call what it returns to stop. */
export function followAsked<Value>(wanted: () => Wanted<Value> | null, tell: (held: Held<Value>) => void): () => void {
  const desk = new Desk<Value>(tell);
  const stop = effect(() => desk.want(wanted()));
  return () => {
    stop();
    desk.close();
  };
}
