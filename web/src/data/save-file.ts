/** Rows as CSV, as spreadsheets read it. */

export type Cell = string | number | boolean | null;

export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return numberText(cell);
  const text = String(cell);
  // A spreadsheet takes a text that begins so for a formula, and names of runs are anybody's. A number is none.
  const isFormula = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text));
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** As Python and spreadsheets write what is no number. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0" : String(value);
}

// --- Put something into a file of the reader's.

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
