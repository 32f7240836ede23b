/** From a number to its colour: which map, between which limits, and the colours of the theme. */
import type { TensorView } from "../wire";

export type MapName = "div" | "seq";

/** Limits of a colour scale. In the sequential map `low` is the quiet end, also where it is the larger number. */
export interface Scale {
  readonly map: MapName;
  readonly low: number;
  readonly high: number;
  /** By powers of ten: nought and less are the quiet end. */
  readonly isLog?: boolean;
}

/** Both signs: diverging, with zero in the middle. One sign: sequential, with zero at its quiet end. */
export function autoScale(view: Pick<TensorView, "min" | "max">): Scale {
  const low = view.min ?? 0;
  const high = view.max ?? 0;
  if (low < 0 && high > 0) {
    const limit = Math.max(-low, high);
    return { map: "div", low: -limit, high: limit };
  }
  if (high <= 0) return { map: "seq", low: nearZero(-high, -low) === 0 ? 0 : high, high: low };
  return { map: "seq", low: nearZero(low, high), high };
}

/** Values that crowd together far from zero would all get one colour: their scale starts at the least of them. */
function nearZero(least: number, most: number): number {
  return least > most / 2 && least < most ? least : 0;
}

/** Where a value stands on its scale, from 0 to 1. A scale without extent puts everything at its quiet point. */
export function placeOn(scale: Scale, value: number): number {
  if (scale.isLog === true) return value <= scale.low ? 0 : Math.min(1, Math.log(value / scale.low) / Math.log(scale.high / scale.low));
  const quiet = scale.map === "div" ? 0.5 : 0;
  const extent = scale.high - scale.low;
  if (extent === 0) return value === 0 ? quiet : scale.map === "div" ? (value > 0 ? 1 : 0) : 1;
  return Math.min(1, Math.max(0, (value - scale.low) / extent));
}

export const STEPS: Record<MapName, number> = { div: 11, seq: 10 };

/** The step of the map: `d0` to `d10`, `q0` to `q9`, the classes that hold its colour and the ink on it. */
export function stepClass(scale: Scale, value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return "inf";
  const step = Math.round(placeOn(scale, value) * (STEPS[scale.map] - 1));
  return `${scale.map === "div" ? "d" : "q"}${step}`;
}

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The finite ones among some numbers; null where there are none. */
export function rangeOf(values: Iterable<number>): Range | null {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min <= max ? { min, max } : null;
}

export type Rgb = readonly [red: number, green: number, blue: number];

/** `#FFFFFF`, and `#fff`, as a bundle writes it. */
export function parseHex(hex: string): Rgb {
  const whole = hex.trim().replace(/^#([0-9a-f])([0-9a-f])([0-9a-f])$/i, "#$1$1$2$2$3$3");
  const digits = /^#([0-9a-f]{6})$/i.exec(whole)?.[1];
  if (digits === undefined) return [128, 128, 128];
  const code = parseInt(digits, 16);
  return [code >> 16, (code >> 8) & 255, code & 255];
}

/** A ramp of 256 colours between stops, as bytes: red, green, blue, 255. */
export function rampBytes(stops: readonly Rgb[]): Uint8ClampedArray {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let at = 0; at < 256; at++) {
    const place = (at / 255) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    const [from, to] = [stops[before]!, stops[before + 1]!];
    for (const part of [0, 1, 2] as const) {
      bytes[at * 4 + part] = Math.round(from[part] + (to[part] - from[part]) * (place - before));
    }
    bytes[at * 4 + 3] = 255;
  }
  return bytes;
}

export interface Palette {
  readonly ramp: Uint8ClampedArray;
  readonly danger: Rgb;
  readonly surface: Rgb;
  /** What is not there, or not defined: it is no fault. */
  readonly none: Rgb;
}

export function themeColours(): (token: string) => Rgb {
  const style = getComputedStyle(window.document.documentElement);
  return (token) => parseHex(style.getPropertyValue(token));
}

export function readPalette(map: MapName): Palette {
  const colour = themeColours();
  const stops = Array.from({ length: STEPS[map] }, (_, step) => colour(`--${map}-${step}`));
  return { ramp: rampBytes(stops), danger: colour("--danger"), surface: colour("--surface"), none: colour("--line-2") };
}

/** A value as the pixel at a place among bytes. Infinity is solid danger. */
export function paintValue(pixels: Uint8ClampedArray, at: number, value: number, scale: Scale, palette: Palette, nan = palette.none): void {
  const isThere = Number.isFinite(value);
  const from = isThere ? Math.round(placeOn(scale, value) * 255) * 4 : 0;
  const ink = isThere ? palette.ramp : Number.isNaN(value) ? nan : palette.danger;
  for (let part = 0; part < 3; part++) pixels[at + part] = ink[from + part]!;
  pixels[at + 3] = 255;
}

/** Values as pixels, one each. NaN alternates danger with a paler one, a hatch at this size. */
export function paintValues(
  values: ArrayLike<number>,
  from: number,
  width: number,
  height: number,
  scale: Scale,
  palette: Palette,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(width * height * 4);
  const pale = palette.danger.map((part, at) => Math.round(0.4 * part + 0.6 * palette.surface[at]!)) as unknown as Rgb;
  for (let at = 0; at < width * height; at++) {
    const isPale = (Math.floor(at / width) + (at % width)) % 2 === 1;
    paintValue(pixels, 4 * at, values[from + at]!, scale, palette, isPale ? pale : palette.danger);
  }
  return pixels;
}
