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
