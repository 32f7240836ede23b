/** What the page remembers between visits. A page opened from a file, or a private one, may have no memory. */

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
