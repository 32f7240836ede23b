/** The colour of a run's line: its own, or that of a value on a scale. */
import { parseHex, rampBytes } from "../tensor/colour";
import type { Axis } from "./axes";

export interface Colouring {
  /** A CSS colour. */
  of(runId: string): string;
  /** What the scale means; null for the colours of the runs. */
  readonly axis: Axis | null;
}

/** The quiet end of the map would not be seen as a thin line. */
const FIRST_SHARE = 0.25;

export function runColouring(slotOf: (runId: string) => number): Colouring {
  return { of: (runId) => `var(--cat-${slotOf(runId)})`, axis: null };
}

/** By the place of a value on its axis; a run without one has the colour of captions. */
export function valueColouring(axis: Axis, stops: readonly string[]): Colouring {
  const ramp = rampBytes(stops.map(parseHex));
  return {
    axis,
    of: (runId) => {
      const place = axis.place(axis.column.values.get(runId));
      if (place === null) return "var(--text-3)";
      const at = Math.round((FIRST_SHARE + (1 - FIRST_SHARE) * place) * 255) * 4;
      return `rgb(${ramp[at]} ${ramp[at + 1]} ${ramp[at + 2]})`;
    },
  };
}

/** The part of the map that is used, from the lowest to the highest. */
export function shownRamp(stops: readonly string[]): string {
  const ramp = rampBytes(stops.map(parseHex));
  const colours = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = Math.round((FIRST_SHARE + (1 - FIRST_SHARE) * share) * 255) * 4;
    return `rgb(${ramp[at]} ${ramp[at + 1]} ${ramp[at + 2]})`;
  });
  return `linear-gradient(to right, ${colours.join(", ")})`;
}
