/** Which groups are closed, for as long as this browser remembers. */
import { signal } from "@preact/signals";
import { recall, remember } from "../remembered";

const MEMORY = "closed-sections";

const closed = signal<ReadonlySet<string>>(
  new Set(
    recall(MEMORY)
      ?.split("\n")
      .filter((name) => name !== "") ?? [],
  ),
);

export function isClosed(name: string): boolean {
  return closed.value.has(name);
}

export function fold(name: string, isWanted: boolean): void {
  const next = new Set(closed.peek());
  if (isWanted) next.add(name);
  else next.delete(name);
  closed.value = next;
  remember(MEMORY, [...next].join("\n"));
}
