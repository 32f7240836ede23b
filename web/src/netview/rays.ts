/** The strongest weights of the selected unit, as rays. */
import { LEVELS, type PlateValues, type UnitPlace } from "./store";

export interface Ray {
  readonly place: UnitPlace;
  readonly level: number;
  readonly value: number;
}

export const MOST_RAYS = 200;

/** Of all layers together, the farthest from zero, the weakest first. What is no number has no strength. */
export function strongest(
  values: ReadonlyMap<string, PlateValues>,
  isShown: (layer: string) => boolean,
  most = MOST_RAYS,
): readonly Ray[] {
  const kept: Ray[] = [];
  let least = 0;
  for (const [layer, block] of values) {
    if (!isShown(layer)) continue;
    const factor = (block.high - block.low) / LEVELS;
    for (let unit = 0; unit < block.levels.length; unit++) {
      const level = block.levels[unit]!;
      if (level > LEVELS) continue;
      const value = block.low + level * factor;
      if (Math.abs(value) <= least) continue;
      kept.push({ place: { layer, unit }, level, value });
      // Not for each of them: half of what is kept is let go at a time.
      if (kept.length >= 2 * most) least = thin(kept, most);
    }
  }
  thin(kept, most);
  return kept.reverse();
}

/** Keep the strongest, strongest first; what is no stronger than the answer need not come. */
function thin(kept: Ray[], most: number): number {
  kept.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  kept.length = Math.min(kept.length, most);
  return kept.length < most ? 0 : Math.abs(kept.at(-1)!.value);
}
