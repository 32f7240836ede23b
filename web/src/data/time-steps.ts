/** The moments of a series, and where a step of the time bar leads among them. */

export interface Moment {
  readonly step: number;
  readonly time: number;
}

/** So many records on, and no further than the ends. */
export function moved(count: number, at: number, by: number): number {
  return Math.max(0, Math.min(count - 1, at + by));
}

type KeyPress = Pick<KeyboardEvent, "key" | "shiftKey">;

/** Where a key leads among so many, ten at a time with Shift; null for any other key. */
export function movedByKey({ key, shiftKey }: KeyPress, at: number, count: number): number | null {
  const by = shiftKey ? 10 : 1;
  const to = { ArrowLeft: at - by, ArrowRight: at + by, Home: 0, End: count - 1 }[key];
  return to === undefined ? null : moved(count, to, 0);
}

/** What a key asks for: a place in the list, `play`, `follow`, or null. */
export function keyStep(event: KeyPress, at: number, count: number): number | "play" | "follow" | null {
  return ({ " ": "play", f: "follow" } as const)[event.key] ?? movedByKey(event, at, count);
}

/** Which record is nearest to a step; -1 where there are none. Steps need not rise. */
export function nearestAt(moments: readonly Moment[], step: number): number {
  let best = -1;
  for (const [at, one] of moments.entries()) {
    if (best < 0 || Math.abs(one.step - step) < Math.abs(moments[best]!.step - step)) best = at;
  }
  return best;
}
