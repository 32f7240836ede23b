/** The keys of the steps and of the drawing, wherever on the page the focus is, but for fields and lists. */
import { useEffect } from "preact/hooks";
import { isForField } from "../shell/keys";
import { fit, zoomBy } from "./graph/view";
import { togglePlaying } from "./playing";
import * as store from "./store";

function move(by: number): void {
  store.isPlaying.value = false;
  store.setStep(store.step.peek() + by);
}

const KEYS: Readonly<Record<string, (event: KeyboardEvent) => void>> = {
  ArrowLeft: ({ shiftKey }) => move(shiftKey ? -10 : -1),
  ArrowRight: ({ shiftKey }) => move(shiftKey ? 10 : 1),
  Home: () => move(-Infinity),
  End: () => move(Infinity),
  " ": togglePlaying,
  b: () => store.setDirection(store.direction.peek() === "backward" ? "forward" : "backward"),
  Enter: store.reveal,
  Escape: () => (store.lookedAt.value = null),
  "0": fit,
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
};

export function useLearnKeys(): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const action = KEYS[event.key];
      if (action === undefined || isTaken(event) || store.pageMode.peek() !== "expressions") return;
      event.preventDefault();
      action(event);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Does the key belong to what has the focus, to the browser, or to a window above? */
export function isTaken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isForField(event)) return true;
  if (!(event.target instanceof Element)) return false;
  if (event.target.closest("dialog, .listbox") !== null) return true;
  // What can be pressed is pressed by these.
  const isPress = event.key === " " || event.key === "Enter";
  return isPress && event.target.closest("button, a, summary") !== null;
}
