/** One before, one after, and where one is between them. */
import type { ComponentChildren } from "preact";
import { IconButton } from "./IconButton";

interface Props {
  style: string;
  label: string;
  title?: string | undefined;
  /** What is stepped through, as its buttons say it. */
  thing: string;
  keys?: readonly [before: string, after: string];
  hasBefore: boolean;
  hasAfter: boolean;
  step: (by: number) => void;
  buttonStyle?: string;
  children: ComponentChildren;
}

export function Stepper({ style, label, title, thing, keys, hasBefore, hasAfter, step, buttonStyle = "", children }: Props) {
  const button = (name: string, icon: "left" | "right", key: string | undefined, isThere: boolean, by: number) => {
    const title = key === undefined ? undefined : `${name} (${key})`;
    const look = `btn ${buttonStyle} sm square`;
    return <IconButton icon={icon} label={name} look={look} title={title} disabled={!isThere} onClick={() => step(by)} />;
  };
  return (
    <div class={style} role="group" aria-label={label} title={title}>
      {button(`${thing} before`, "left", keys?.[0], hasBefore, -1)}
      {children}
      {button(`${thing} after`, "right", keys?.[1], hasAfter, 1)}
    </div>
  );
}
