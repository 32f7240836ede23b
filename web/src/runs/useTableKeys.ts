/** The keys of the table of runs, wherever on its page the focus is, but for fields and buttons. */
import { useEffect, useRef } from "preact/hooks";
import { isForField } from "../shell/keys";

export interface TableActions {
  move(by: number): void;
  first(): void;
  last(): void;
  compare(): void;
  open(): void;
}

const KEYS: Record<string, (actions: TableActions) => void> = {
  ArrowDown: (actions) => actions.move(1),
  ArrowUp: (actions) => actions.move(-1),
  PageDown: (actions) => actions.move(10),
  PageUp: (actions) => actions.move(-10),
  Home: (actions) => actions.first(),
  End: (actions) => actions.last(),
  x: (actions) => actions.compare(),
  Enter: (actions) => actions.open(),
};

export function useTableKeys(actions: TableActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const key = KEYS[event.key];
      if (key === undefined || !isForTable(event)) return;
      event.preventDefault();
      key(latest.current);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Boxes to tick take the arrows and the x, too; what is pressed with Enter keeps its Enter. */
function isForTable(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog, .popover, [role=listbox], [role=separator]") !== null) return false;
  if (target instanceof HTMLInputElement && target.type === "checkbox") return key !== "Enter";
  if (isForField(event)) return false;
  return key !== "Enter" || target.closest("a, button") === null;
}
