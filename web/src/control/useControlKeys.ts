/** The keys of the training, wherever on its page the focus is, but for fields. */
import { useEffect, useRef } from "preact/hooks";
import { isForField } from "../shell/keys";

export interface ControlActs {
  step(): void;
  run(): void;
  stop(): void;
}

const KEYS: Record<string, (acts: ControlActs) => void> = {
  ".": (acts) => acts.step(),
  r: (acts) => acts.run(),
  s: (acts) => acts.stop(),
};

export function useControlKeys(acts: ControlActs): void {
  const latest = useRef(acts);
  latest.current = acts;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isOther = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isForField(event);
      const act = KEYS[event.key];
      if (isOther || act === undefined || isInDialog(event.target)) return;
      event.preventDefault();
      // Held down, a step follows a step; a second stop would end the process.
      if (!event.repeat || event.key === ".") act(latest.current);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("dialog, [role=listbox]") !== null;
}
