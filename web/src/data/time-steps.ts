/** The moments of a series, and where a step of the time bar leads among them. */

export interface Moment {
  readonly step: number;
  readonly time: number;
}

/** So many records on, and no further than the ends. */
export function moved(count: number, at: number, by: number): number {
  return Math.max(0, Math.min(count - 1, at + by));
}

/** What a key asks for: a place in the list, `play`, `follow`, or null. */
export function keyStep(
  event: Pick<KeyboardEvent, "key" | "shiftKey">,
  at: number,
  count: number,
): number | "play" | "follow" | null {
  const by = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case "ArrowLeft":
      return moved(count, at, -by);
    case "ArrowRight":
      return moved(count, at, by);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    case " ":
      return "play";
    case "f":
      return "follow";
    default:
      return null;
  }
}

/** Which record is nearest to a step; -1 where there are none. Steps need not rise. */
export function nearestAt(moments: readonly Moment[], step: number): number {
  let best = -1;
  for (const [at, one] of moments.entries()) {
    if (best < 0 || Math.abs(one.step - step) < Math.abs(moments[best]!.step - step)) best = at;
  }
  return best;
}
