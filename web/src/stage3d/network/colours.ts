/** The colours of the theme: maps from values to colours, and the inks of all that is no value. */
import type { MapName } from "../../data/network/store";
import { rampBytes, type Rgb, themeColours } from "../../ui/colour-scale";

const TOKENS = {
  canvas: "--sunken",
  surface: "--surface",
  outline: "--line-2",
  text: "--text",
  faint: "--text-3",
  danger: "--danger",
  /** A plate of which nothing is known yet. */
  quiet: "--active",
} as const;

export type Inks = Readonly<Record<keyof typeof TOKENS, Rgb>>;

export function readInks(): Inks {
  const colour = themeColours();
  return Object.fromEntries(Object.entries(TOKENS).map(([name, token]) => [name, colour(token)])) as Inks;
}

/** Known as cold-hot wherever networks are looked at, the same in both themes but for its middle. */
const COLD: readonly Rgb[] = [
  [0, 226, 255],
  [0, 112, 255],
  [20, 40, 200],
];
const HOT: readonly Rgb[] = [
  [196, 24, 24],
  [255, 92, 0],
  [255, 225, 0],
];

const STOPS: Record<MapName, (colour: ReturnType<typeof themeColours>) => readonly Rgb[]> = {
  diverging: (colour) => Array.from({ length: 11 }, (_, step) => colour(`--div-${step}`)),
  sequential: (colour) => Array.from({ length: 10 }, (_, step) => colour(`--seq-${step}`)),
  coldhot: (colour) => [...COLD, colour("--div-5"), ...HOT],
  grey: (colour) => [colour("--div-5"), colour("--text")],
};

/** 256 colours from the lowest value to the highest, four bytes each. */
export function readRamp(map: MapName): Uint8ClampedArray {
  return rampBytes(STOPS[map](themeColours()));
}

/** For a legend: the colours of a CSS gradient, from low to high. */
export function cssRamp(map: MapName): string {
  return STOPS[map](themeColours()).map(cssColour).join(", ");
}

export function cssColour(colour: Rgb): string {
  return `rgb(${colour.join(" ")})`;
}
