/** A key of the page, as long as the part that has it is there, and nobody types. */
import { useEffect, useRef } from "preact/hooks";
import { isForField } from "../shell/keys";

export function useKey(key: string, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isOther = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey;
      if (isOther || event.key !== key || isForField(event)) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [key]);
}
