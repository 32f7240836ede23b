/** A colour for each run: in the order in which they began, and for as long as this browser remembers. */
import type { RunListing } from "../wire";
import { recall, remember } from "./remembered";

export const NUM_COLOURS = 8;
const MEMORY = "run-colours";
const MAX_REMEMBERED = 2000;

/**
 * The slots of all runs, from 1 to 8. A run that is known keeps its own; a new one takes the one used least. Of those
 * that are chosen no two are alike as long as there are colours for all: the one that began later takes a free one.
 */
export function colourSlots(
  runs: readonly RunListing[],
  chosen: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, number> {
  const known = recalled();
  const slots = new Map<string, number>();
  const uses = new Array<number>(NUM_COLOURS).fill(0);
  const take = (id: string, slot: number): void => {
    slots.set(id, slot);
    uses[slot - 1]! += 1;
  };
  for (const { id } of runs) {
    const slot = known.get(id);
    if (slot !== undefined) take(id, slot);
  }
  const fresh = runs.filter(({ id }) => !known.has(id));
  for (const { id } of fresh.sort((a, b) => a.started - b.started || a.name.localeCompare(b.name))) {
    const slot = uses.indexOf(Math.min(...uses)) + 1;
    take(id, slot);
    known.set(id, slot);
  }
  const moved = chosen.size <= NUM_COLOURS && tellApart(runs, chosen, slots, known);
  // The newest last: what is too much is forgotten from the front.
  if (fresh.length > 0 || moved) remember(MEMORY, JSON.stringify([...known].slice(-MAX_REMEMBERED)));
  return slots;
}

/** Give other slots to those of the chosen runs whose own is taken by another of them. Were there any? */
function tellApart(
  runs: readonly RunListing[],
  chosen: ReadonlySet<string>,
  slots: Map<string, number>,
  known: Map<string, number>,
): boolean {
  const taken = new Set<number>();
  const alike: string[] = [];
  const inOrder = runs.filter(({ id }) => chosen.has(id)).sort((a, b) => a.started - b.started);
  for (const { id } of inOrder) {
    const slot = slots.get(id)!;
    if (taken.has(slot)) alike.push(id);
    taken.add(slot);
  }
  for (const id of alike) {
    let free = 1;
    while (taken.has(free)) free += 1;
    taken.add(free);
    slots.set(id, free);
    known.set(id, free);
  }
  return alike.length > 0;
}

/** What an earlier visit left; whatever else stands there is passed over. */
function recalled(): Map<string, number> {
  try {
    const found = JSON.parse(recall(MEMORY) ?? "[]") as unknown[];
    return new Map(found.filter(isSlot));
  } catch {
    return new Map();
  }
}

function isSlot(pair: unknown): pair is [id: string, slot: number] {
  const [id, slot] = Array.isArray(pair) ? (pair as unknown[]) : [];
  return typeof id === "string" && Number.isInteger(slot) && Number(slot) >= 1 && Number(slot) <= NUM_COLOURS;
}
