/** Round numbers along an axis, and how to write them. */

const MINUS = "\u2212";
const UNITS = ["", "k", "M", "G", "T"];

/** Three to six round numbers from one end to the other, both within. */
export function niceTicks(low: number, high: number, atMost = 5): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return Number.isFinite(low) ? [low] : [];
  const step = niceStep((high - low) / atMost);
  const ticks: number[] = [];
  // By whole numbers: adding up a step would add up its error, too.
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * step; at++) {
    ticks.push(Number((at * step).toPrecision(12)));
  }
  return ticks;
}

/** The smallest of 1, 2, 2.5, 5 times a power of ten that is not below. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** 16000 → `16k`; 0.04 → `0.04`; all of an axis with as many digits as tell them apart. */
export function formatTicks(ticks: readonly number[]): string[] {
  const largest = Math.max(0, ...ticks.map(Math.abs));
  const unit = largest < 10_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(largest) / 3));
  if (largest >= 1e15 || (largest > 0 && largest < 1e-3)) return ticks.map((tick) => exponential(tick));
  const scaled = ticks.map((tick) => tick / 1000 ** unit);
  const decimals = Math.max(0, ...scaled.map(decimalsOf));
  return scaled.map((value, at) => {
    if (ticks[at] === 0) return "0";
    return `${value.toFixed(decimals).replace("-", MINUS)}${UNITS[unit]!}`;
  });
}

function exponential(tick: number): string {
  if (tick === 0) return "0";
  return tick
    .toExponential()
    .replace(/^(-?\d(?:\.\d{1,2})?)\d*e/, "$1e")
    .replace("e+", "e")
    .replaceAll("-", MINUS);
}

function decimalsOf(value: number): number {
  for (let decimals = 0; decimals < 8; decimals++) {
    if (Math.abs(value - Number(value.toFixed(decimals))) < 1e-9 * Math.max(1, Math.abs(value)))
      return decimals;
  }
  return 8;
}
