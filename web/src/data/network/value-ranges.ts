/** Between which limits the values of a variable are coloured: over all that was ever recorded, or as somebody set them. */
import { computed, signal } from "@preact/signals";
import { list, type Range } from "./moments";
import * as store from "./store";
import { LEVELS, type MapName, NOT_A_NUMBER, NOT_THERE, type PlateValues } from "./store";

/** What somebody chose for a variable. Null leaves it to the values. */
export interface Choice {
  readonly fixed: { readonly min: number; readonly max: number } | null;
  readonly isCentred: boolean | null;
  readonly map: MapName | null;
}

/** How values become colours and heights. Changing it asks the server nothing. */
export interface Look {
  readonly min: number;
  readonly max: number;
  readonly isAuto: boolean;
  readonly isCentred: boolean;
  readonly map: MapName;
}

export const UNCHOSEN: Choice = { fixed: null, isCentred: null, map: null };

export const MAPS: readonly (readonly [MapName, string])[] = [
  ["diverging", "Blue – orange"],
  ["sequential", "Pale – dark teal"],
  ["coldhot", "Cold – hot"],
  ["grey", "Grey"],
];

/** Both signs: zero in the middle. One sign: from zero on, unless all values crowd together far from it. */
export function colouringOf(range: Range | null, choice: Choice): Look {
  const { low, high } = range ?? { low: 0, high: 0 };
  const isCentred = choice.isCentred ?? (choice.fixed === null ? low < 0 : choice.fixed.min === -choice.fixed.max);
  const map = choice.map ?? (isCentred || low < 0 ? "diverging" : "sequential");
  const limits = choice.fixed ?? limitsOf(low, high, isCentred, choice.isCentred === false);
  return { ...limits, isAuto: choice.fixed === null, isCentred, map };
}

function limitsOf(low: number, high: number, isCentred: boolean, isExact: boolean): { min: number; max: number } {
  if (isCentred) {
    const limit = Math.max(-low, high) || 1;
    return { min: -limit, max: limit };
  }
  const isFarFromZero = low > high / 2 && low < high;
  const min = isExact || isFarFromZero || low < 0 ? low : 0;
  return { min, max: high > min ? high : min + 1 };
}

export const choices = signal<ReadonlyMap<string, Choice>>(new Map());

export function choiceOf(variable: string): Choice {
  return choices.value.get(variable) ?? UNCHOSEN;
}

export function choose(variable: string, change: Partial<Choice>): void {
  choices.value = new Map(choices.peek()).set(variable, { ...choiceOf(variable), ...change });
}

/** Limits by hand. Where zero is in the middle, the other one follows. */
export function setLimit(variable: string, which: "min" | "max", value: number): string {
  const { min, max, isCentred } = look.peek();
  const next = isCentred ? { min: -Math.abs(value), max: Math.abs(value) } : { min, max, [which]: value };
  if (!Number.isFinite(value)) return "A limit is a number.";
  if (!(next.min < next.max)) return isCentred ? "The limit must not be nought." : "The minimum must be below the maximum.";
  choose(variable, { fixed: next });
  return "";
}

export function setCentred(variable: string, isCentred: boolean): void {
  const { fixed } = choiceOf(variable);
  const limit = fixed === null ? 0 : Math.max(Math.abs(fixed.min), Math.abs(fixed.max));
  choose(variable, { isCentred, fixed: isCentred && fixed !== null ? { min: -limit, max: limit } : fixed });
}

/** The last variable of which there were values. */
export const lastVariable = signal("");

/** The variable whose values are on screen: a moment ago it may have been another one than is wanted. */
export const shownVariable = computed(() => lastVariable.value || store.variable.value);

export const range = computed<Range | null>(() => {
  const name = shownVariable.value;
  const known = list.value?.ranges.get(name);
  if (known !== undefined) return known;
  const listed = store.variables.value.find((one) => one.name === name);
  return listed?.low != null && listed.high !== null ? { low: listed.low, high: listed.high } : null;
});

export const look = computed<Look>(() => colouringOf(range.value, choiceOf(shownVariable.value)));

// --- From levels to places on a colour map and to heights; the shaders take the same numbers.

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

export function scalingOf({ min, max }: Pick<Look, "min" | "max">, { low, high }: Pick<PlateValues, "low" | "high">): Scaling {
  const isMagnitude = min < 0 && max > 0;
  const furthest = Math.max(-min, max);
  const riseOf = isMagnitude
    ? (value: number) => value / furthest
    : (value: number) => (min >= 0 ? value - min : max - value) / (max - min);
  const [tintSlope, tintStart] = line(low, high, (value) => (value - min) / (max - min));
  const [riseSlope, riseStart] = line(low, high, riseOf);
  return { tintSlope, tintStart, riseSlope, riseStart, isMagnitude };
}

function line(low: number, high: number, place: (value: number) => number): readonly [slope: number, start: number] {
  const start = held(place(low));
  // The difference of two huge values may be too large to write: halves of it are not.
  return [held((place(high) / 2 - place(low) / 2) * 2) / LEVELS, start];
}

function held(value: number): number {
  return Number.isNaN(value) ? 0 : Math.max(-LARGEST, Math.min(LARGEST, value));
}

/** Of the largest height, as it is drawn. What is not there lies flat. */
export function heightOfLevel(scaling: Scaling, level: number): number {
  if (level > LEVELS) return level === NOT_THERE ? 0 : level === NOT_A_NUMBER ? LEAST_HEIGHT : 1;
  const rise = scaling.riseSlope * level + scaling.riseStart;
  return LEAST_HEIGHT + (1 - LEAST_HEIGHT) * Math.max(0, Math.min(1, scaling.isMagnitude ? Math.abs(rise) : rise));
}

export function highestOf(scaling: Scaling, hasInfinity: boolean): number {
  if (hasInfinity) return 1;
  return Math.max(heightOfLevel(scaling, 0), heightOfLevel(scaling, LEVELS));
}

/** Where a level is on the colour map, from 0 to 1; null for what is no number. */
export function tintOfLevel(scaling: Scaling, level: number): number | null {
  if (level > LEVELS) return null;
  return Math.max(0, Math.min(1, scaling.tintSlope * level + scaling.tintStart));
}
