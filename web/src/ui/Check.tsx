/** A box to tick, with what it means beside it. */
import type { ComponentChildren } from "preact";

interface Props {
  hint?: string | undefined;
  isOn: boolean;
  isOff?: boolean;
  set: (isOn: boolean) => void;
  children: ComponentChildren;
}

/** `isOff`: it cannot be ticked now. */
export function Check({ hint, isOn, isOff = false, set, children }: Props) {
  return (
    <label class="check" title={hint}>
      <input type="checkbox" checked={isOn} disabled={isOff} onChange={(event) => set(event.currentTarget.checked)} />
      {children}
    </label>
  );
}
