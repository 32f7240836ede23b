/** From levels to places on a colour map and to heights; the shaders take the same numbers. */
import {
  LEVELS,
  MINUS_INFINITY,
  NOT_THERE,
  PLUS_INFINITY,
  type Look,
  type PlateValues,
} from "./store";

/** Both are straight lines over the levels: `slope * level + start`. */
export interface Scaling {
  /** From 0 to 1 on the colour map. */
  readonly tintSlope: number;
  readonly tintStart: number;
  /** From 0 to 1 of the largest height; where both signs are shown, the farther from zero the higher. */
  readonly riseSlope: number;
  readonly riseStart: number;
  readonly isMagnitude: boolean;
}

/** Also the smallest value can be seen and pointed at. */
export const LEAST_HEIGHT = 0.08;

/** What the card can still count with. */
const LARGEST = 1e30;

export function scalingOf(look: Pick<Look, "min" | "max" | "map">, block: Pick<PlateValues, "low" | "high">): Scaling {
  const { low, high } = block;
  const [least, most] = look.min <= look.max ? [look.min, look.max] : [look.max, look.min];
  const isMagnitude = least < 0 && most > 0;
  // Without extent zero is quiet, and everything else is at an end.
  const extent = look.max - look.min;
  const quiet = look.map === "diverging" || look.map === "coldhot" ? 0.5 : 0;
  const tint =
    extent === 0
      ? line(low, high, (value) => (value === 0 ? quiet : quiet === 0.5 && value < 0 ? 0 : 1))
      : line(low, high, (value) => (value - look.min) / extent);
  const furthest = Math.max(-least, most);
  const rise =
    extent === 0
      ? line(low, high, (value) => (value === 0 ? 0 : 1))
      : isMagnitude
        ? line(low, high, (value) => value / furthest)
        : line(low, high, (value) => (least >= 0 ? value - least : most - value) / (most - least));
  return { tintSlope: tint[0], tintStart: tint[1], riseSlope: rise[0], riseStart: rise[1], isMagnitude };
}

function line(low: number, high: number, place: (value: number) => number): readonly [slope: number, start: number] {
  const start = held(place(low));
  // The difference of two huge values may be too large to write: halves of it are not.
  return [held((place(high) / 2 - place(low) / 2) * 2) / LEVELS, start];
}

function held(value: number): number {
  return Number.isNaN(value) ? 0 : Math.max(-LARGEST, Math.min(LARGEST, value));
}

/** From 0 to 1, before the least height. */
export function riseOfLevel(scaling: Scaling, level: number): number {
  if (level > LEVELS) return level === PLUS_INFINITY || level === MINUS_INFINITY ? 1 : 0;
  const rise = scaling.riseSlope * level + scaling.riseStart;
  return Math.max(0, Math.min(1, scaling.isMagnitude ? Math.abs(rise) : rise));
}

/** Of the largest height, as it is drawn. What is not there lies flat. */
export function heightOfLevel(scaling: Scaling, level: number): number {
  if (level === NOT_THERE) return 0;
  return LEAST_HEIGHT + (1 - LEAST_HEIGHT) * riseOfLevel(scaling, level);
}

/** No unit of a block is higher. */
export function highestOf(scaling: Scaling, hasInfinity: boolean): number {
  if (hasInfinity) return 1;
  return Math.max(heightOfLevel(scaling, 0), heightOfLevel(scaling, LEVELS));
}

/** Where a level is on the colour map, from 0 to 1; null for what is no number. */
export function tintOfLevel(scaling: Scaling, level: number): number | null {
  if (level > LEVELS) return null;
  return Math.max(0, Math.min(1, scaling.tintSlope * level + scaling.tintStart));
}

export function hasInfinity(levels: Uint16Array): boolean {
  return levels.includes(PLUS_INFINITY) || levels.includes(MINUS_INFINITY);
}
