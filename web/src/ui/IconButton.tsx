/** A button with an icon and no word on it. */
import type { JSX } from "preact";
import { Icon, type IconName } from "./Icon";

type Props = { icon: IconName; label: string; look?: string } & JSX.IntrinsicElements["button"];

export function IconButton({ icon, label, look = "btn sm square", ...rest }: Props) {
  return (
    <button class={look} aria-label={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}
