/** Numbers as people read them: true minus, thin groups of three, units. */

const MINUS = "\u2212";
const THIN = "\u202f"; // narrow and never broken at the end of a line

/** Replace the hyphen that JavaScript writes, in the exponent too. */
export function withTrueMinus(text: string): string {
  return text.replaceAll("-", MINUS).replace("e+", "e");
}

/** 100352 → `100 352`. Four digits stay together, as in a year. */
export function formatCount(count: number): string {
  if (!Number.isFinite(count)) return formatSpecial(count);
  return groupDigits(String(Math.round(count)));
}

/** The same for digits that may be too many for a number. */
export function groupDigits(digits: string): string {
  const body = digits.replace("-", "");
  const grouped = body.length <= 4 ? body : body.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return digits.startsWith("-") ? MINUS + grouped : grouped;
}

export function formatSpecial(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "\u221e" : `${MINUS}\u221e`;
}

/** A figure with so many significant digits: 0.08217, −3.421, 1.2e−7, 100 352. */
export function formatValue(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return formatSpecial(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7) return withTrueMinus(trimZeros(value.toExponential(digits - 1)));
  if (Number.isInteger(value)) return formatCount(value);
  if (size >= 10 ** (digits - 1)) return formatCount(value);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return withTrueMinus(value.toFixed(Math.min(decimals, 20)));
}

/** Only the zeros that say nothing: 1.200e-7 → 1.2e-7. */
function trimZeros(text: string): string {
  return text.replace(/\.?0+e/, "e");
}

type Format = (value: number) => string;

/**
 * How to write the values of a grid, all alike: with three digits of the largest, or fewer, or with an exponent,
 * whatever is the most exact that fits. A number that is cut off would be another number.
 */
export function gridFormat(numbers: readonly number[], fits: (text: string) => boolean): Format {
  const finite = numbers.filter(Number.isFinite);
  const limit = Math.max(0, ...finite.map(Math.abs));
  const formats = finite.every(Number.isInteger) ? [fixed(0), ...gridFormats(limit)] : gridFormats(limit);
  return formats.find((format) => numbers.every((value) => fits(format(value)))) ?? formats.at(-1)!;
}

function gridFormats(limit: number): Format[] {
  const exponent = limit === 0 ? 0 : Math.floor(Math.log10(limit));
  const isPlain = exponent >= -5 && exponent <= 7;
  const plain = isPlain ? [2, 1].map((digits) => fixed(Math.max(0, digits - exponent))) : [];
  return [...plain, scientific(1), scientific(0)];
}

function fixed(decimals: number): Format {
  // What rounds to nought has no sign.
  return special((value) => withTrueMinus(value.toFixed(decimals)).replace(/^\u2212(0(\.0*)?)$/, "$1"));
}

function scientific(decimals: number): Format {
  return special((value) => withTrueMinus(value.toExponential(decimals)));
}

function special(format: Format): Format {
  return (value) => (Number.isFinite(value) ? (value === 0 ? "0" : format(value)) : formatSpecial(value));
}

/** All digits that it takes to know the value exactly, of a number kept in four or eight bytes. */
export function formatExact(value: number, encoding: "f4" | "f8"): string {
  if (!Number.isFinite(value)) return formatSpecial(value);
  if (encoding === "f8" || Number.isSafeInteger(value)) return withTrueMinus(String(value));
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return withTrueMinus(String(Number(text)));
  }
  return withTrueMinus(String(value));
}

const BYTE_UNITS = ["B", "KB", "MB", "GB", "TB"];

/** How often it can be divided until it is below the limit, and what is left then. */
function scaled(value: number, by: number, limit: number, units: readonly string[]): [size: number, step: number] {
  let [size, step] = [value, 0];
  while (size >= limit && step < units.length - 1) {
    size /= by;
    step += 1;
  }
  return [size, step];
}

/** 401408 → `392.0 KB`: powers of 1024 and one decimal, as torcheer writes it everywhere. */
export function formatBytes(bytes: number): string {
  const [size, step] = scaled(bytes, 1024, 1024, BYTE_UNITS);
  return `${step === 0 ? String(Math.round(size)) : size.toFixed(1)}${THIN}${BYTE_UNITS[step]!}`;
}

const COUNT_UNITS = ["", "K", "M", "G", "T", "P"];

/** 11689512 → `11.69 M`. */
export function formatLarge(count: number): string {
  if (count < 10_000) return formatCount(count);
  // Not at 1000 but where it would be written so: 999.96 M is 1.000 G.
  const [size, step] = scaled(count, 1000, 999.95, COUNT_UNITS);
  const integerDigits = Math.floor(Math.log10(Math.max(size, 1))) + 1;
  return `${size.toFixed(Math.max(0, 4 - integerDigits))}${THIN}${COUNT_UNITS[step]!}`;
}

/** 0.01183 → `11.8 ms`. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return `0${THIN}s`;
  const steps: [number, number, string][] = [
    [1e-6, 1e9, "ns"],
    [1e-3, 1e6, "µs"],
    [1, 1e3, "ms"],
  ];
  for (const [below, factor, unit] of steps) {
    if (seconds < below) return `${threeDigits(seconds * factor)}${THIN}${unit}`;
  }
  return `${threeDigits(seconds)}${THIN}s`;
}

function threeDigits(value: number): string {
  if (value >= 1000) return formatCount(value);
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/** [1, 128, 28, 28] → `1×128×28×28`; a scalar has no dimensions. */
export function formatShape(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : shape.join("\u00d7");
}

/** A share of one as per cent; a share that is not nought never reads as nought. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return "none";
  const percent = (100 * part) / whole;
  if (part > 0 && percent < 0.05) return `<0.1${THIN}%`;
  if (part < whole && percent >= 99.95) return `>99.9${THIN}%`;
  return `${percent.toFixed(1)}${THIN}%`;
}

/** A time of day: 14:02:31. */
export function formatClock(when: number): string {
  const date = new Date(when);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** `1 op`, `14 ops`. */
export function formatNumberOf(count: number, one: string, several = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : several}`;
}
