/** A part of the inspector under a small heading, with a remark at the right. */
import type { ComponentChildren } from "preact";

interface Props {
  title: string;
  remark?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, remark, children }: Props) {
  return (
    <section class="section" aria-label={title}>
      <div class="row">
        <h2>{title}</h2>
        <span class="grow" />
        {remark !== undefined && <span class="muted fs-1 remark">{remark}</span>}
      </div>
      {children}
    </section>
  );
}
