/** What the page remembers between visits. A page opened from a file, or a private one, may have no memory. */

const PREFIX = "torcheer.";

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Then it is forgotten with the page.
  }
}
