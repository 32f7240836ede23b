/** The head of the inspector: what is selected, in two lines. */
import type { ComponentChildren } from "preact";

export function Head({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="panel-head subject-head">
      <div class="grow">
        <h1 class="mono" title={title}>
          {title}
        </h1>
        <div class="muted fs-1">{children}</div>
      </div>
    </div>
  );
}
