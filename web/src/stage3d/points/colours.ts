/** What a column of labels says about the points: which kinds there are, or a number for each. */
import { rampBytes, rangeOf, type Rgb, themeColours } from "../../ui/colour-scale";

export type Colouring =
  | { readonly kind: "none" }
  | {
      readonly kind: "categories";
      /** In the order of their colours. */
      readonly names: readonly string[];
      readonly counts: readonly number[];
      /** For each point the place of its name. */
      readonly of: Int32Array;
    }
  | {
      readonly kind: "numbers";
      readonly low: number;
      readonly high: number;
      /** NaN where the label is no number. */
      readonly values: Float64Array;
    };

/** More kinds than this have no colour of their own. */
export const MOST_COLOURS = 16;
/** Fewer different numbers than this are names: classes are often called 0 to 9. */
const FEWEST_NUMBERS = 17;

/** Numbers where every label is one and there are many, names otherwise. */
export function colouringOf(values: readonly string[] | null): Colouring {
  if (values === null) return { kind: "none" };
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  if (counts.size >= FEWEST_NUMBERS) {
    const numbers = asNumbers(values);
    if (numbers !== null) return numbers;
  }
  // By name, so that a kind has the same colour at every step; where colours are too few, the frequent ones get them.
  const isFew = counts.size <= MOST_COLOURS;
  const sorted = [...counts].sort((a, b) => (isFew ? 0 : b[1] - a[1]) || byName(a[0], b[0]));
  const places = new Map(sorted.map(([name], at) => [name, at]));
  return {
    kind: "categories",
    names: sorted.map(([name]) => name),
    counts: sorted.map(([, count]) => count),
    of: Int32Array.from(values, (value) => places.get(value)!),
  };
}

/** As people count: `digit 2` before `digit 10`. */
export function byName(left: string, right: string): number {
  return left.localeCompare(right, "en", { numeric: true });
}

const NO_NUMBER = /^(nan)?$/i;

function asNumbers(values: readonly string[]): Colouring | null {
  const numbers = Float64Array.from(values, (value) => (NO_NUMBER.test(value.trim()) ? NaN : Number(value)));
  if (values.some((value, at) => Number.isNaN(numbers[at]) && !NO_NUMBER.test(value.trim()))) return null;
  const range = rangeOf(numbers);
  const finite = numbers.map((number) => (Number.isFinite(number) ? number : NaN));
  return range === null ? null : { kind: "numbers", low: range.min, high: range.max, values: finite };
}

export interface Inks {
  readonly categories: readonly Rgb[];
  readonly ramp: Uint8ClampedArray;
  readonly none: Rgb;
  readonly plain: Rgb;
  readonly surface: Rgb;
  readonly text: Rgb;
}

/** The colours of the theme that is on. After the eight of the theme come the same, halfway to the background. */
export function readInks(): Inks {
  const colour = themeColours();
  const first = Array.from({ length: 8 }, (_, at) => colour(`--cat-${at + 1}`));
  const surface = colour("--sunken");
  const second = first.map((rgb) => mix(rgb, surface, 0.5));
  return {
    categories: [...first, ...second],
    // The quiet end would vanish in the background.
    ramp: rampBytes(Array.from({ length: 9 }, (_, at) => colour(`--seq-${at + 1}`))),
    none: mix(colour("--text-3"), surface, 0.45),
    plain: colour("--cat-1"),
    surface,
    text: colour("--text"),
  };
}

export function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (at: 0 | 1 | 2): number => Math.round(from[at] + (to[at] - from[at]) * share);
  return [part(0), part(1), part(2)];
}

export function categoryInk(inks: Inks, at: number): Rgb {
  return at < MOST_COLOURS ? inks.categories[at]! : inks.none;
}

function numberInk(inks: Inks, colouring: { low: number; high: number }, value: number): Rgb {
  if (Number.isNaN(value)) return inks.none;
  const extent = colouring.high - colouring.low;
  const place = extent === 0 ? 1 : Math.min(1, Math.max(0, (value - colouring.low) / extent));
  const at = Math.round(place * 255) * 4;
  return [inks.ramp[at]!, inks.ramp[at + 1]!, inks.ramp[at + 2]!];
}

/** How faint points are that something else is chosen over. */
const FAINT = 0.78;

/** Red, green, blue, 255 for each point. Where some are chosen, the others are faint. */
export function paintPoints(
  colouring: Colouring,
  inks: Inks,
  numPoints: number,
  chosen: Uint8Array | null,
): Uint8Array {
  const bytes = new Uint8Array(numPoints * 4);
  const faint = (ink: Rgb): readonly [Rgb, Rgb] => [ink, mix(ink, inks.surface, FAINT)];
  const plain = faint(inks.plain);
  const kinds = colouring.kind === "categories" ? colouring.names.map((_, at) => faint(categoryInk(inks, at))) : [];
  const inkOf = (point: number): readonly [Rgb, Rgb] => {
    if (colouring.kind === "none") return plain;
    if (colouring.kind === "numbers") return faint(numberInk(inks, colouring, colouring.values[point]!));
    return kinds[colouring.of[point]!]!;
  };
  for (let point = 0; point < numPoints; point++) {
    const isFaint = chosen !== null && chosen[point] !== 1;
    const [red, green, blue] = inkOf(point)[isFaint ? 1 : 0];
    bytes[point * 4] = red;
    bytes[point * 4 + 1] = green;
    bytes[point * 4 + 2] = blue;
    bytes[point * 4 + 3] = 255;
  }
  return bytes;
}
