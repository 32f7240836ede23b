/** Values of parameters as they are written. */
import { formatValue } from "../format";
import type { Value } from "./columns";

/** Exactly what was given where it is short, so that 0.1 does not become 0.1000; a dash for nothing. */
export function valueText(value: Value | undefined): string {
  if (value === undefined || value === null) return "–";
  if (typeof value !== "number") return String(value);
  const exact = String(value);
  return exact.length <= 7 ? exact.replace("-", "\u2212") : formatValue(value, 4);
}
