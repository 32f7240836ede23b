/** The colours of labels, and of numbers in a picture. */
import { mix } from "../projector/colouring";
import { parseHex, placeOn, readPalette, type Palette, type Rgb, type Scale } from "../tensor/colour";

export const NUM_COLOURS = 8;
/** Above so many, labels have a place on a ramp: their order can be seen, though not which is which. */
export const MOST_NAMED = 24;
const NUM_STEPS = 10;
const FIRST_STEP = 2; // paler ones vanish in the background

/** After the eight of the theme come the same, paler, and then stronger. */
const MIXED: readonly (string | undefined)[] = [undefined, "--sunken", "--text"];
const SHARE = 0.55;

/** As CSS writes it. Where there is room for shapes, they tell apart what looks alike. */
export function labelColour(label: number | undefined, numLabels: number): string {
  if (label === undefined) return "var(--cat-1)";
  if (numLabels <= MOST_NAMED) {
    const [colour, mixed] = [`var(--cat-${(label % NUM_COLOURS) + 1})`, MIXED[Math.floor(label / NUM_COLOURS)]];
    return mixed === undefined ? colour : `color-mix(in srgb, ${colour} ${100 * SHARE}%, var(${mixed}))`;
  }
  const share = label / (numLabels - 1);
  return `var(--seq-${FIRST_STEP + Math.round(share * (NUM_STEPS - 1 - FIRST_STEP))})`;
}

/** 0 circle, 1 square, 2 triangle. */
export function labelShape(label: number | undefined, numLabels: number): number {
  return label === undefined || numLabels > MOST_NAMED ? 0 : Math.floor(label / NUM_COLOURS);
}

export function readLabelColour(label: number | undefined, numLabels: number): Rgb {
  const [colour, mixed] = (labelColour(label, numLabels).match(/--[\w-]+/g) ?? []).map(readToken);
  return mixed === undefined ? colour! : mix(colour!, mixed, 1 - SHARE);
}

export function readToken(token: string): Rgb {
  return parseHex(getComputedStyle(window.document.documentElement).getPropertyValue(token));
}

/** Everything a picture of numbers needs of the theme. What is not defined is grey: it is no fault. */
export interface NumberInks {
  readonly palette: Palette;
  readonly quiet: Rgb;
}

export function readNumberInks(map: Scale["map"]): NumberInks {
  return { palette: readPalette(map), quiet: readToken("--line-2") };
}

export function paintNumber(pixels: Uint8ClampedArray, at: number, value: number, scale: Scale, inks: NumberInks): void {
  if (Number.isFinite(value)) {
    const from = Math.round(placeOn(scale, value) * 255) * 4;
    for (let part = 0; part < 3; part++) pixels[at + part] = inks.palette.ramp[from + part]!;
  } else {
    const ink = Number.isNaN(value) ? inks.quiet : inks.palette.danger;
    for (let part = 0; part < 3; part++) pixels[at + part] = ink[part]!;
  }
  pixels[at + 3] = 255;
}

/** The finite ones among some numbers; null where there are none. */
export function rangeOf(values: Iterable<number>): { min: number; max: number } | null {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min <= max ? { min, max } : null;
}
