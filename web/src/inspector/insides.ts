/** What is inside a module, and what reaches it from outside. */
import type { GraphNode, Hierarchy } from "../graph/model";
import type { PassDocument } from "../wire";

/** Indices of all ops under a node, in the order they ran. */
export function opsOf(hierarchy: Hierarchy, node: GraphNode): number[] {
  const found: number[] = [];
  const visit = (one: GraphNode): void => {
    found.push(...one.ops);
    for (const child of one.children) {
      const next = hierarchy.nodes.get(child);
      if (next !== undefined) visit(next);
    }
  };
  visit(node);
  return found.sort((a, b) => a - b);
}

/** Indices of the ops outside whose outputs are read inside. Buffers are the module's own. */
export function inputsOf(document: PassDocument, inside: readonly number[]): number[] {
  const within = new Set(inside);
  const found = new Set<number>();
  for (const index of inside) {
    const op = document.ops[index];
    if (op === undefined) continue;
    if (op.kind === "input") found.add(index);
    for (const [from] of op.parents) {
      if (!within.has(from) && document.ops[from]?.kind !== "buffer") found.add(from);
    }
  }
  return [...found].sort((a, b) => a - b);
}
