/** Which row each value stands in: ops below all that they read, inputs just above the first that reads them. */
import type { LearnNode } from "../../wire";

export function findRanks(nodes: readonly LearnNode[]): number[] {
  const ranks = new Array<number>(nodes.length).fill(0);
  const readers: number[][] = nodes.map(() => []);
  // In the order in which they were made, so that parents come first.
  for (const { id, parents } of nodes) {
    for (const parent of parents) {
      readers[parent]!.push(id);
      ranks[id] = Math.max(ranks[id]!, ranks[parent]! + 1);
    }
  }
  for (const { id, parents } of nodes.toReversed()) {
    if (parents.length > 0 || readers[id]!.length === 0) continue;
    ranks[id] = Math.min(...readers[id]!.map((reader) => ranks[reader]!)) - 1;
  }
  const least = Math.min(0, ...ranks);
  return ranks.map((rank) => rank - least);
}

/** The longest way that ends in a node, from its first op on: it is drawn as a straight line. */
export function findSpine(nodes: readonly LearnNode[], ranks: readonly number[], end: number | null): ReadonlySet<number> {
  const spine = new Set<number>();
  let at = end ?? nodes.findLast(({ kind }) => kind === "op")?.id ?? null;
  while (at !== null && nodes[at]?.kind === "op") {
    spine.add(at);
    const before: readonly number[] = nodes[at]!.parents.filter((parent) => nodes[parent]?.kind === "op");
    at = before.length === 0 ? null : before.reduce((one, other) => (ranks[other]! > ranks[one]! ? other : one));
  }
  return spine;
}
