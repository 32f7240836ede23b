/** Figures under one heading that can be closed. */
import type { ComponentChildren } from "preact";
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { fold, isClosed } from "./folding";

interface Props {
  name: string;
  /** How many series there are. */
  count?: number;
  /** Why it is closed until somebody opens it; empty where it is open at first. */
  whyClosed?: string;
  /** What can be chosen for all of them. */
  tools?: ComponentChildren;
  children: ComponentChildren;
}

export function Group({ name, count, whyClosed = "", tools, children }: Props) {
  const isShut = isClosed(name, whyClosed !== "");
  return (
    <section class="sec-group" aria-label={name}>
      <div class="sec-head">
        <button class="sec-fold" aria-expanded={!isShut} onClick={() => fold(name, !isShut)}>
          <Icon name={isShut ? "right" : "down"} />
          <h2>{name}</h2>
          {count !== undefined && <span class="muted fs-1">{formatCount(count)}</span>}
          {isShut && whyClosed !== "" && <span class="muted fs-1">{whyClosed}</span>}
        </button>
        <span class="grow" />
        {!isShut && tools}
      </div>
      {!isShut && <div class="sec-figures">{children}</div>}
    </section>
  );
}
