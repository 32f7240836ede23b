/** The title of a panel or of a part of it, a remark beside it, and what stands at the right. */
import type { ComponentChildren } from "preact";

interface Props {
  title: string;
  remark?: ComponentChildren;
  /** `rule-t`: under a line. */
  look?: string;
  children?: ComponentChildren;
}

export function PanelHead({ title, remark, look = "", children }: Props) {
  return (
    <div class={`panel-head ${look}`}>
      <h2 class="clip" title={title}>
        {title}
      </h2>
      {remark !== undefined && <span class="muted fs-1">{remark}</span>}
      <span class="grow" />
      {children}
    </div>
  );
}
