/** Places on an axis that are easy to read, and short words for them. */
import { formatValue } from "../format";

/** Round numbers between two, about so many; both ends where there is no distance between them. */
export function niceTicks(low: number, high: number, about: number): number[] {
  const extent = high - low;
  if (!(extent > 0) || !Number.isFinite(extent)) return Number.isFinite(low) ? [low] : [];
  const rough = extent / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough * 0.999) ?? 10);
  const ticks: number[] = [];
  for (let nth = Math.ceil(low / step - 1e-9); nth * step <= high + step * 1e-9; nth++) {
    // What is nearly nought is nought.
    ticks.push(Number((nth * step).toPrecision(12)));
  }
  return ticks;
}

const UNITS: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** 16000 → `16k`, 1500000 → `1.5M`, 0.25 → `0.25`. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  const unit = UNITS.find(([least]) => size >= least);
  if (unit === undefined || size >= 1e15) {
    const plain = String(Number(value.toPrecision(4)));
    return plain.includes("e") ? formatValue(value, 3) : plain.replace("-", "\u2212");
  }
  return `${Number((value / unit[0]).toPrecision(4))}${unit[1]}`.replace("-", "\u2212");
}
