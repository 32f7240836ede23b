/** How the numbers of a column are written: all with as many decimals, so that they line up. */
import { formatCount, formatSpecial, formatValue } from "../../format";

/** Of the largest, so many digits are seen. */
const DIGITS = 4;
const MOST_DECIMALS = 6;
const LARGE = 1e7;

export function columnFormat(numbers: Iterable<number>): (value: number) => string {
  let [largest, isWhole] = [0, true];
  for (const value of numbers) {
    if (!Number.isFinite(value)) continue;
    largest = Math.max(largest, Math.abs(value));
    isWhole &&= Number.isInteger(value);
  }
  if (isWhole && largest <= Number.MAX_SAFE_INTEGER) return (value) => (Number.isFinite(value) ? formatCount(value) : formatSpecial(value));
  const power = largest === 0 ? 0 : Math.floor(Math.log10(largest));
  const decimals = Math.max(0, Math.min(MOST_DECIMALS, DIGITS - 1 - power));
  // What would be nought with so many decimals, or is too long with any, is written alone.
  const least = 0.5 * 10 ** -decimals;
  return (value) => {
    const size = Math.abs(value);
    if (!Number.isFinite(value) || size >= LARGE || (size < least && value !== 0)) return formatValue(value, 3);
    return value.toFixed(decimals).replace("-", "\u2212");
  };
}
