/** The limits of colours: by themselves from what is shown, both layers on one scale, or fixed by hand. */
import { signal } from "@preact/signals";
import { autoScale, type Scale } from "../tensor/colour";

const fixed = signal<ReadonlyMap<string, Scale>>(new Map());

export interface ChosenScale {
  readonly scale: Scale;
  readonly isAuto: boolean;
  readonly set: (scale: Scale | null) => void;
}

/** `name`: of what is shown; each kind of picture has limits of its own. */
export function chosenScale(name: string, range: { min: number; max: number } | null, auto: Scale | null = null): ChosenScale {
  const by = fixed.value.get(name);
  return {
    scale: by ?? auto ?? autoScale(range ?? { min: 0, max: 0 }),
    isAuto: by === undefined,
    set: (scale) => {
      const next = new Map(fixed.peek());
      if (scale === null) next.delete(name);
      else next.set(name, scale);
      fixed.value = next;
    },
  };
}
