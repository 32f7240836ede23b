/** A button that tells the training something. Where it may not, it says why, and keeps the focus. */
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./Icon";

interface Props {
  icon?: IconName;
  style?: string;
  /** Why it cannot be pressed now; empty where it can. */
  against: string;
  hint?: string;
  /** Its name, where the word on it is not enough. */
  label?: string;
  act: (event: MouseEvent) => void;
  children: ComponentChildren;
}

export function ActButton({ icon, style = "", against, hint, label, act, children }: Props) {
  const isOff = against !== "";
  return (
    <button
      class={`btn ${style}`}
      // Not `disabled`: a button that is pressed and goes off for a moment would lose the focus.
      aria-disabled={isOff}
      aria-label={label}
      title={isOff ? against : hint}
      onClick={(event) => {
        if (!isOff) act(event);
      }}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}
