/** Which groups somebody closed or opened, for as long as this browser remembers. */
import { signal } from "@preact/signals";
import { recall, remember } from "../remembered";

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
