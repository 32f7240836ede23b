/** Figures under one heading that can be closed. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { formatCount } from "../format";
import { recall, remember } from "../remembered";
import { Icon } from "../shell/Icon";

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

// --- Which groups somebody closed or opened, for as long as this browser remembers.

const CLOSED = "closed-sections";
const OPENED = "opened-sections";

const closed = signal(recalled(CLOSED));
const opened = signal(recalled(OPENED));

function recalled(memory: string): ReadonlySet<string> {
  return new Set(
    recall(memory)
      ?.split("\n")
      .filter((name) => name !== "") ?? [],
  );
}

/** What somebody chose holds; before that, what is given. */
export function isClosed(name: string, isClosedAtFirst = false): boolean {
  return closed.value.has(name) || (isClosedAtFirst && !opened.value.has(name));
}

export function fold(name: string, isWanted: boolean): void {
  for (const [memory, names, isIn] of [
    [CLOSED, closed, isWanted],
    [OPENED, opened, !isWanted],
  ] as const) {
    const next = new Set(names.peek());
    if (isIn) next.add(name);
    else next.delete(name);
    names.value = next;
    remember(memory, [...next].join("\n"));
  }
}
