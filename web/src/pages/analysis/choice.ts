/** What every analysis has, whatever is analysed: the metric, a table instead of a picture, the limits of colours. */
import { signal } from "@preact/signals";
import { flagInAddress } from "../../data/address-choice";
import { autoScale, type Range, type Scale } from "../../ui/colour-scale";

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
