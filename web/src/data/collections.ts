/** Maps that are filled as they are asked; signals that change only with what they say. */
import { computed, type ReadonlySignal } from "@preact/signals";

interface Known<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** What is known of a key; what is not, is made and known from then on. */
export function obtain<Key, Value>(known: Known<Key, Value>, key: Key, make: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    known.set(key, value);
  }
  return value;
}

/** So many numbers from 0 to count − 1 at most, evenly, with the first and the last. */
export function evenly(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, at) => at);
  if (most === 1) return [count - 1];
  return Array.from({ length: most }, (_, at) => Math.round((at * (count - 1)) / (most - 1)));
}

/** In the order in which they come. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) obtain(groups, keyOf(item), () => []).push(item);
  return groups;
}

/** The same object as long as it says the same, however often what it is made of changes. */
export function steady<Value>(make: () => Value): ReadonlySignal<Value> {
  let before: { readonly value: Value; readonly text: string } | null = null;
  return computed(() => {
    const value = make();
    const text = JSON.stringify(value);
    if (before?.text !== text) before = { value, text };
    return before.value;
  });
}
