/** How the numbers of an axis are written: short, all alike, and so that they can be told apart. */
import { groupDigits } from "../format";

const MINUS = "\u2212";
/** From where on a unit is used, and what it stands for. Years and four digits stay as they are. */
const UNITS: readonly (readonly [from: number, scale: number, name: string])[] = [
  [1e12, 1e12, "T"],
  [1e9, 1e9, "G"],
  [1e6, 1e6, "M"],
  [1e4, 1e3, "k"],
];
/** A unit is for round numbers: with more decimals than this, all digits are easier to read. */
const MOST_DECIMALS = 2;
const ALL_DECIMALS = 12;
/** Numbers further apart than this are those of a logarithmic axis. */
const WIDE = 8;

/** `0`, `16k`, `0.04`, `11 608`, `2e−5`: with as many decimals as the one that needs most. */
export function formatTicks(values: readonly number[]): string[] {
  const sizes = values.filter((value) => value !== 0).map(Math.abs);
  const most = Math.max(0, ...sizes);
  // On a logarithmic axis each number may need a unit of its own.
  if (most > WIDE * Math.min(...sizes)) return values.map((value) => formatAlike([value], Math.abs(value))[0]!);
  return formatAlike(values, most);
}

function formatAlike(values: readonly number[], size: number): string[] {
  if (size > 0 && (size >= 1e15 || size < 1e-3)) return powersOf(values);
  const [, scale, name] = UNITS.find(([from]) => size >= from) ?? [0, 1, ""];
  const decimals = decimalsOf(values.map((value) => value / scale));
  if (name === "" || decimals <= MOST_DECIMALS) {
    return values.map((value) => (value === 0 ? "0" : `${fixed(value / scale, decimals)}${name}`));
  }
  const all = decimalsOf(values);
  return values.map((value) => (value === 0 ? "0" : grouped(fixed(value, all))));
}

function powersOf(values: readonly number[]): string[] {
  const parts = values.map((value) => {
    const [digits = "0", power = "0"] = value.toExponential(9).split("e");
    return [Number(digits), Number(power)] as const;
  });
  const decimals = decimalsOf(parts.map(([digits]) => digits));
  return parts.map(([digits, power]) => (digits === 0 ? "0" : `${fixed(digits, decimals)}e${withMinus(String(power))}`));
}

/** The fewest decimals that leave all of them what they are. */
function decimalsOf(values: readonly number[]): number {
  const isKept = (value: number, decimals: number): boolean =>
    Math.abs(value - Number(value.toFixed(decimals))) <= 1e-10 * Math.abs(value);
  let decimals = 0;
  for (const value of values) while (decimals < ALL_DECIMALS && !isKept(value, decimals)) decimals += 1;
  return decimals;
}

function fixed(value: number, decimals: number): string {
  return withMinus(value.toFixed(decimals));
}

/** 11608.5 → `11 608.5`. */
function grouped(text: string): string {
  const [whole = "", ...rest] = text.replace(MINUS, "-").split(".");
  return [groupDigits(whole), ...rest].join(".");
}

/** Of one number by itself, with four digits at the most: `16k`, `1.5M`, `0.25`. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  const [, scale, name] = UNITS.find(([, from]) => size >= from) ?? [0, 1, ""];
  if (name === "" || size >= 1e15) return formatTicks([Number(value.toPrecision(4))])[0]!;
  return withMinus(`${Number((value / scale).toPrecision(4))}${name}`);
}

function withMinus(text: string): string {
  return text.replaceAll("-", MINUS);
}
