/** Put something into a file of the reader's. */

const MOST_CHARACTERS = 120;

export function save(name: string, content: BlobPart, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  // Some browsers only follow a link that is on the page.
  document.body.append(link);
  link.click();
  link.remove();
  // Not at once: the browser reads it after this.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A name that every file system takes: `val/cat` at step 28000 → `val-cat-28000.csv`. */
export function fileName(parts: readonly (string | number)[], extension: string): string {
  const stem = parts
    .join("-")
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    // Of a long name the end tells more: what of it, and at which step.
    .slice(-MOST_CHARACTERS)
    .replace(/^[-.]+|[-.]+$/g, "");
  return `${stem || "torcheer"}.${extension}`;
}
