/** What stands where there is nothing to show: what is missing, and what to do about it. */
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./Icon";

interface Props {
  icon: IconName;
  title: string;
  isError?: boolean;
  children?: ComponentChildren;
}

export function Blank({ icon, title, isError = false, children }: Props) {
  return (
    <div class={isError ? "blank error" : "blank"} role={isError ? "alert" : undefined}>
      <Icon name={icon} />
      <b>{title}</b>
      {children}
    </div>
  );
}
