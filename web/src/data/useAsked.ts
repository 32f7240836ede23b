/** Ask for something while it is wanted, and again when there is news of it; what came before stays meanwhile. */
import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { Desk, type Held, type Wanted } from "./requests";

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

/** The same outside of a component, by the signals that `wanted` reads. Call what it returns to stop. */
export function followAsked<Value>(wanted: () => Wanted<Value> | null, tell: (held: Held<Value>) => void): () => void {
  const desk = new Desk<Value>(tell);
  const stop = effect(() => desk.want(wanted()));
  return () => {
    stop();
    desk.close();
  };
}
