/** Between which limits the values of a variable are coloured: over all that was ever recorded, or as somebody set them. */
import { computed, effect, signal } from "@preact/signals";
import { list, type Range } from "./moments";
import * as store from "./store";
import type { Look, MapName } from "./store";

/** What somebody chose for a variable. Null leaves it to the values. */
export interface Choice {
  readonly fixed: { readonly min: number; readonly max: number } | null;
  readonly isCentred: boolean | null;
  readonly map: MapName | null;
}

export type Colouring = Pick<Look, "min" | "max" | "isAuto" | "isCentred" | "map">;

export const UNCHOSEN: Choice = { fixed: null, isCentred: null, map: null };

export const MAPS: readonly (readonly [MapName, string])[] = [
  ["diverging", "Blue – orange"],
  ["sequential", "Pale – dark teal"],
  ["coldhot", "Cold – hot"],
  ["grey", "Grey"],
];

/** Both signs: zero in the middle. One sign: from zero on, unless all values crowd together far from it. */
export function colouringOf(range: Range | null, choice: Choice): Colouring {
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
  const { min, max, isCentred } = store.look.peek();
  const next = isCentred ? { min: -Math.abs(value), max: Math.abs(value) } : { ...{ min, max }, [which]: value };
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

/** Variables whose values come without a range over time, as weights of a unit: what was seen of them. */
const seen = signal<ReadonlyMap<string, Range>>(new Map());

export function see(variable: string, blocks: Iterable<store.PlateValues>): void {
  const known = seen.peek().get(variable);
  let { low, high } = known ?? { low: Infinity, high: -Infinity };
  for (const block of blocks) {
    if (block.levels.length === 0) continue;
    low = Math.min(low, block.low);
    high = Math.max(high, block.high);
  }
  if (low > high || (known?.low === low && known.high === high)) return;
  seen.value = new Map(seen.peek()).set(variable, { low, high });
}

export function forgetSeen(): void {
  seen.value = new Map();
}

/** The variable whose values are on screen: a moment ago it may have been another one than is wanted. */
export const shownVariable = signal("");

export const range = computed<Range | null>(() => {
  const name = shownVariable.value || store.variable.value;
  const known = list.value?.ranges.get(name);
  if (known !== undefined) return known;
  const listed = store.variables.value.find((one) => one.name === name);
  if (listed?.low != null && listed.high !== null) return { low: listed.low, high: listed.high };
  return seen.value.get(name) ?? null;
});

/** Keep the look in step with what is shown. Call what it returns to stop. */
export function followRange(): () => void {
  return effect(() => {
    const next = colouringOf(range.value, choiceOf(shownVariable.value || store.variable.value));
    const before = store.look.peek();
    const isSame = (Object.keys(next) as (keyof Colouring)[]).every((key) => next[key] === before[key]);
    if (!isSame) store.look.value = { ...before, ...next };
  });
}
