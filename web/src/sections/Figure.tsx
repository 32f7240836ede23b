/** A picture with its name above it, what can be done with it, and its state where there is nothing to see. */
import type { ComponentChildren, RefObject } from "preact";

const MAX_SPAN = 4;

interface Props {
  title: string;
  /** The whole name, where the title is only its end. */
  hint?: string;
  remark?: ComponentChildren;
  tools?: ComponentChildren;
  place?: RefObject<HTMLElement | null>;
  /** How many columns it takes. */
  span?: number;
  onKeyDown?: (event: KeyboardEvent) => void;
  children: ComponentChildren;
}

export function Figure({ title, hint, remark, tools, place, span = 1, onKeyDown, children }: Props) {
  return (
    <figure
      ref={place ?? null}
      class={`sec-figure span-${Math.min(MAX_SPAN, span)}`}
      aria-label={hint ?? title}
      onKeyDown={onKeyDown}
    >
      <figcaption>
        <b class="clip" title={hint ?? title}>
          {title}
        </b>
        <span class="grow" />
        {remark !== undefined && <span class="sec-remark clip">{remark}</span>}
        {tools}
      </figcaption>
      {children}
    </figure>
  );
}
