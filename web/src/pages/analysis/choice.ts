/** What every analysis has, whatever is analysed: choices in the address, the metric, a table, the limits of colours. */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "../../data/route";
import { autoScale, type Range, type Scale } from "../../ui/colour-scale";

/** One of several words or numbers, in the address, so that it can be shared; the usual one is not written there. */
export interface Choice<Value extends string | number = string> {
  /** Each with what is written on it and, where that is not enough, what it means. */
  readonly words: readonly (readonly [value: Value, title: string, hint?: string])[];
  readonly chosen: Value;
  readonly choose: (next: Value) => void;
}

export function inAddress<const Value extends string | number>(
  name: string,
  words: Choice<Value>["words"],
  usual = words[0]![0],
): Choice<Value> {
  const found = computed(() => words.find(([value]) => String(value) === param(name))?.[0] ?? usual);
  return {
    words,
    get chosen() {
      return found.value;
    },
    choose: (next) => setParams({ [name]: next === usual ? null : String(next) }),
  };
}

/** Something that is so or not; the address has one word for what is not usual. */
function flagInAddress(name: string, other: string, usual: boolean) {
  const isOn = computed(() => (param(name) === other) !== usual);
  return { isOn, set: (next: boolean) => setParams({ [name]: next === usual ? null : other }) };
}

export const table = flagInAddress("table", "yes", false);
export const zoom = flagInAddress("zoom", "yes", false);
export const lessMean = flagInAddress("mean", "kept", true);

export const METRICS = [
  ["correlation", "Correlation", "Pearson’s, over units"],
  ["cosine", "Cosine", "Of the angle between two of them"],
  ["euclidean", "Distance", "Euclid’s, over units"],
] as const;
export type Metric = (typeof METRICS)[number][0];

// --- The limits of colours: by themselves from what is shown, both layers on one scale, or fixed by hand.

const fixed = signal<ReadonlyMap<string, Scale>>(new Map());

/** `name`: of what is shown; each kind of picture has limits of its own. */
export function chosenScale(name: string, range: Range | null, auto: Scale | null = null) {
  const by = fixed.value.get(name);
  return {
    scale: by ?? auto ?? autoScale(range ?? { min: 0, max: 0 }),
    isAuto: by === undefined,
    onChange: (scale: Scale | null): void => {
      const next = new Map(fixed.peek());
      if (scale === null) next.delete(name);
      else next.set(name, scale);
      fixed.value = next;
    },
  };
}
