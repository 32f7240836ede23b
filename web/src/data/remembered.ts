/** What the page remembers between visits. A page opened from a file, or a private one, may have no memory. */
import { signal } from "@preact/signals";

const PREFIX = "torcheer.";

type Storage = "localStorage" | "sessionStorage";

/** `sessionStorage` lasts as long as the tab. */
export function recall(name: string, storage: Storage = "localStorage"): string | null {
  try {
    return globalThis[storage].getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string, storage: Storage = "localStorage"): void {
  try {
    globalThis[storage].setItem(PREFIX + name, value);
  } catch {
    // Then it is forgotten with the page.
  }
}

const MAX_NAMES = 500;

/** Names that are in a set or not, as somebody chose; the newest are remembered. */
export interface NameSet {
  has(name: string): boolean;
  set(name: string, isIn: boolean): void;
}

export function rememberedNames(memory: string): NameSet {
  const names = signal<ReadonlySet<string>>(new Set(namesIn(recall(memory) ?? "[]")));
  return {
    has: (name) => names.value.has(name),
    set: (name, isIn) => {
      const next = new Set(names.peek());
      if (isIn) next.add(name);
      else next.delete(name);
      names.value = next;
      remember(memory, JSON.stringify([...next].slice(-MAX_NAMES)));
    },
  };
}

/** Earlier versions wrote some of them in lines. */
function namesIn(text: string): string[] {
  try {
    const names = JSON.parse(text) as unknown;
    return Array.isArray(names) ? names.filter((name): name is string => typeof name === "string") : [];
  } catch {
    return text.split("\n").filter((name) => name !== "");
  }
}
