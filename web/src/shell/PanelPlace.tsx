/** A panel beside the drawing, a rail that opens it, or a sheet over the drawing. */
import type { ComponentChildren } from "preact";
import { panels, type Side } from "./panels";
import { Rail } from "./Rail";
import { Resizer } from "./Resizer";

interface Props {
  side: Side;
  children: ComponentChildren;
}

export function PanelPlace({ side, children }: Props) {
  const { width, [side]: isOpen } = panels.value;
  if (width === "narrow") return isOpen ? <div class={`sheet ${side}`}>{children}</div> : null;
  if (!isOpen) return <Rail side={side} />;
  return (
    <div class={`dock ${side}`}>
      {children}
      <Resizer side={side} />
    </div>
  );
}
