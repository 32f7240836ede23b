/** Scalars that a watcher logs of itself, such as its cost: nobody compares trainings by them. */

/** The group of their charts. */
export const WATCHER_GROUP = "watch";

export function isOfWatcher(name: string): boolean {
  return name.startsWith(`${WATCHER_GROUP}/`);
}
