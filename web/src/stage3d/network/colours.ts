/** The colours of the theme: maps from values to colours, and the inks of all that is no value. */
import type { MapName } from "../../data/network/store";
import { rampBytes, type Rgb, themeColours } from "../../ui/colour-scale";

export interface Inks {
  readonly canvas: Rgb;
  readonly surface: Rgb;
  readonly outline: Rgb;
  readonly text: Rgb;
  readonly faint: Rgb;
  readonly danger: Rgb;
  /** A plate of which nothing is known yet. */
  readonly quiet: Rgb;
}

export function readInks(): Inks {
  const colour = themeColours();
  return {
    canvas: colour("--sunken"),
    surface: colour("--surface"),
    outline: colour("--line-2"),
    text: colour("--text"),
    faint: colour("--text-3"),
    danger: colour("--danger"),
    quiet: colour("--active"),
  };
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

const STOPS: Record<MapName, (colour: (token: string) => Rgb) => readonly Rgb[]> = {
  diverging: (colour) => Array.from({ length: 11 }, (_, step) => colour(`--div-${step}`)),
  sequential: (colour) => Array.from({ length: 10 }, (_, step) => colour(`--seq-${step}`)),
  coldhot: (colour) => [...COLD, colour("--div-5"), ...HOT],
  grey: (colour) => [colour("--div-5"), colour("--text")],
};

/** From the lowest value to the highest. */
export function mapStops(map: MapName): readonly Rgb[] {
  return STOPS[map](themeColours());
}

/** 256 colours, four bytes each. */
export function readRamp(map: MapName): Uint8ClampedArray {
  return rampBytes(mapStops(map));
}

/** For a legend: the colours of a CSS gradient, from low to high. */
export function cssRamp(map: MapName): string {
  return mapStops(map).map(cssColour).join(", ");
}

export function cssColour(colour: Rgb): string {
  return `rgb(${colour.join(" ")})`;
}
