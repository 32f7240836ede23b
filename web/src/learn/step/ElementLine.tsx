/** How the element that is looked at came about, written out. */
import type { ComponentChildren } from "preact";
import { resultText } from "../numbers";

interface Props {
  name: string;
  total: number;
  /** What makes it; null where nothing does, or it is the same. */
  children: ComponentChildren;
}

export function ElementLine({ name, total, children }: Props) {
  return (
    <div class="element" data-testid="element">
      <span class="mono">{name}</span>
      <span class="working">
        {children}
        {children !== null && <span class="muted"> = </span>}
        <b>{resultText(total)}</b>
      </span>
    </div>
  );
}
