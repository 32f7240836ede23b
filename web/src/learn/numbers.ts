/** How the numbers of a lesson are written: alike in a grid, with more digits where they are worked with. */
import { formatValue, gridFormat } from "../format";

/** As many signs have room in a cell: a sign, a point and four digits. */
const CELL_SIGNS = 6;

export type Format = (value: number) => string;

/** All numbers of one grid, with two decimals where they fit. */
export function cellFormat(numbers: readonly number[]): Format {
  const finite = numbers.filter(Number.isFinite);
  const limit = Math.max(0, ...finite.map(Math.abs));
  if (limit !== 0 && (limit < 0.01 || limit >= 1000)) return gridFormat(numbers, (text) => text.length <= CELL_SIGNS);
  const decimals = limit >= 100 ? 1 : limit < 0.1 ? 3 : 2;
  return (value) => (Number.isFinite(value) ? minus(value.toFixed(decimals)) : formatValue(value));
}

/** With true minus, and without one where only noughts are left. */
function minus(text: string): string {
  return text.replace(/^-(0(\.0*)?)$/, "$1").replace("-", "\u2212");
}

/** In a calculation: five digits without noughts at their end, and a minus in brackets where it follows a sign. */
export function factorText(value: number, isFirst = true): string {
  const text = formatValue(value, 5).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return !isFirst && value < 0 ? `(${text})` : text;
}

/** What comes out: five digits. */
export function resultText(value: number): string {
  return formatValue(value, 5);
}

/** For comparing: six decimals, or an exponent where they would say nothing. */
export function checkText(value: number): string {
  return decimalText(value, 6);
}

export function decimalText(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || (size !== 0 && (size < 100 * 10 ** -decimals || size >= 1e5))) {
    return formatValue(value, decimals + 1);
  }
  return minus(value.toFixed(decimals));
}

/** `6.0e−8`; nought is nought. */
export function errorText(error: number): string {
  if (error === 0) return "0";
  return Number.isFinite(error) ? error.toExponential(1).replace("-", "\u2212").replace("+", "") : formatValue(error);
}

/** `1e−6`. */
export function toleranceText(tolerance: number): string {
  return tolerance.toExponential(0).replace("-", "\u2212").replace("+", "");
}
