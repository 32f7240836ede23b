/** Between which limits the pictures of a column are coloured. */
import { autoScale, type Scale } from "../../tensor/colour";
import type { Limits } from "./cellblocks";

/** Null where there are none. */
export function widest(limits: readonly Limits[]): Limits | null {
  if (limits.length === 0) return null;
  return { low: Math.min(...limits.map(({ low }) => low)), high: Math.max(...limits.map(({ high }) => high)) };
}

/**
 * One scale for tensors that are compared, so that what is equal looks equal; but one for each where they are not of
 * the same kind, as the scores of classes beside ones and zeros.
 */
export function scalesFor(limits: readonly (Limits | null)[]): (Scale | null)[] {
  const known = limits.filter((one) => one !== null);
  const all = widest(known);
  if (all === null) return limits.map(() => null);
  const common = areAlike(known) ? scaleOf(all) : null;
  return limits.map((one) => (one === null ? null : (common ?? scaleOf(one))));
}

/** No one reaches further beyond the last than that one is wide. */
function areAlike(limits: readonly Limits[]): boolean {
  const { low, high } = limits.at(-1)!;
  const extent = high - low;
  return limits.every((one) => one.low >= low - extent && one.high <= high + extent);
}

function scaleOf({ low, high }: Limits): Scale {
  return autoScale({ min: low, max: high });
}
