/** Play the steps, one after the other, slowly enough to be read. */
import { effect } from "@preact/signals";
import * as store from "./store";

const STEP_MS = 1200;

export function togglePlaying(): void {
  if (store.count.peek() < 2) return;
  if (!store.isPlaying.peek() && store.step.peek() >= store.count.peek()) store.setStep(1);
  store.isPlaying.value = !store.isPlaying.peek();
}

/** Play while that is wanted, until the function that is returned is called. */
export function startPlaying(): () => void {
  const stop = effect(() => {
    if (!store.isPlaying.value) return undefined;
    const timer = setInterval(() => {
      if (store.step.peek() < store.count.peek()) store.setStep(store.step.peek() + 1);
      else store.isPlaying.value = false;
    }, STEP_MS);
    return () => clearInterval(timer);
  });
  return () => {
    stop();
    store.isPlaying.value = false;
  };
}
