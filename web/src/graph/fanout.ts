/** Which readers of one value are too many and too far to be drawn to. */
import type { Line } from "./layers";

/** Of the readers of one value, those to be given a chip of their own: never the nearest. */
export function farReaders(fan: readonly Line[], fewReaders: number, nearRanks: number): Line[] {
  const readers = fan.filter((line) => line.to.kind !== "out" && !line.isBack && !line.isCondition);
  if (readers.length <= fewReaders) return [];
  readers.sort((a, b) => a.to.rank - b.to.rank);
  return readers.slice(1).filter((line) => line.to.rank - line.from.rank > nearRanks);
}

export function groupBy<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}
