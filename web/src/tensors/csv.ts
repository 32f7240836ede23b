/** Tables as text, a line for each row, as spreadsheets and pandas read them. */

export type Field = string | number;

export function csvOf(header: readonly string[], rows: readonly (readonly Field[])[]): string {
  return [header, ...rows].map((row) => `${row.map(fieldText).join(",")}\r\n`).join("");
}

/** In quotes where something in it would end the field; a number with all of its digits. */
function fieldText(field: Field): string {
  if (typeof field === "number") return numberText(field);
  return /[",\r\n]|^\s|\s$/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0" : String(value);
}
