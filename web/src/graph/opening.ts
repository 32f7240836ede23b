/** Which groups are open: at the start, and down to a depth. */
import type { Hierarchy } from "./model";

/** A pass of more ops than this starts closed. */
const MANY_OPS = 500;

/** Keys of the boxes on screen while these groups are open, outer ones before inner ones. */
export function visibleKeys(hierarchy: Hierarchy, open: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const waiting = [...(hierarchy.nodes.get(hierarchy.root)?.children ?? [])].reverse();
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    found.push(key);
    const node = hierarchy.nodes.get(key)!;
    if (!open.has(key)) continue;
    for (let index = node.children.length - 1; index >= 0; index -= 1) waiting.push(node.children[index]!);
  }
  return found;
}

/** The groups to open so that nodes of this depth are on screen; the children of the model have depth 1. */
export function groupsToDepth(hierarchy: Hierarchy, depth: number): Set<string> {
  const open = new Set<string>();
  for (const node of hierarchy.nodes.values()) {
    if (node.kind === "group" && node.depth < depth) open.add(node.key);
  }
  return open;
}

/** The same without groups that are no call of anything: long stretches, the many outputs of a model. */
function modulesToDepth(hierarchy: Hierarchy, depth: number): Set<string> {
  const open = groupsToDepth(hierarchy, depth);
  for (const key of open) if (hierarchy.nodes.get(key)!.scopes.length === 0) open.delete(key);
  return open;
}

export function deepest(hierarchy: Hierarchy): number {
  let depth = 1;
  for (const node of hierarchy.nodes.values()) depth = Math.max(depth, node.depth);
  return depth;
}

/** Open as deep as the picture stays one that can be read at a glance. */
export function initialOpen(hierarchy: Hierarchy): Set<string> {
  const most = hierarchy.numOps > MANY_OPS ? 48 : 60;
  let open = groupsToDepth(hierarchy, 1);
  for (let depth = 2; depth <= deepest(hierarchy); depth += 1) {
    const next = modulesToDepth(hierarchy, depth);
    if (visibleKeys(hierarchy, next).length > most) break;
    open = next;
  }
  return open;
}
