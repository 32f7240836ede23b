/** Which of its values have room in the head of a chart. */

/** In pixels: a swatch with the gaps around it, the gap between two numbers, the button and the gaps beside it. */
const SWATCH = 20;
const GAP = 6;
const BUTTON = 44;
const MORE = 28;
/** A title gives way to values down to this share of the head. */
const TITLE_SHARE = 0.4;

interface Texts {
  readonly value: string;
  /** Empty where there is none. */
  readonly smoothed: string;
}

export interface Shown {
  /** The first so many values are shown. */
  readonly count: number;
  readonly withSmoothed: boolean;
}

/** All with their smoothed ones, or all without, or as many as there is room for and how many more there are. */
export function fitting(width: number, titleWidth: number, all: readonly Texts[], measure: (text: string) => number): Shown {
  const room = width - BUTTON - Math.min(titleWidth, TITLE_SHARE * width);
  const plain = all.map(({ value }) => SWATCH + measure(value));
  const extra = all.map(({ smoothed }) => (smoothed === "" ? 0 : GAP + measure(smoothed)));
  if (sum(plain) + sum(extra) <= room) return { count: all.length, withSmoothed: true };
  if (sum(plain) <= room) return { count: all.length, withSmoothed: false };
  let [count, used] = [0, MORE];
  while (count < all.length && used + plain[count]! <= room) used += plain[count++]!;
  return { count: Math.max(1, count), withSmoothed: false };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
