/** Where the arrow keys lead from a box: along the edges, or to the box beside it. */
import type { LiftedEdge } from "./edges";
import type { Hierarchy } from "./model";
import type { Scene, SceneBox } from "./scene";

export type Direction = "up" | "down" | "left" | "right";

/** The next box in a direction; null where there is none. */
export function neighbour(
  direction: Direction,
  from: string,
  scene: Scene,
  hierarchy: Hierarchy,
  edges: readonly LiftedEdge[],
): string | null {
  if (direction === "left" || direction === "right") return beside(from, scene, direction);
  const box = scene.boxes.get(from);
  // Into an open group, and out of it, as if its head stood between what is before it and what is in it.
  if (direction === "down" && box?.isOpen === true) return hierarchy.nodes.get(from)?.children[0] ?? null;
  return alongEdge(from, hierarchy, edges, direction);
}

function alongEdge(
  from: string,
  hierarchy: Hierarchy,
  edges: readonly LiftedEdge[],
  direction: "up" | "down",
): string | null {
  let best: string | null = null;
  const order = (key: string): number => hierarchy.nodes.get(key)?.order ?? 0;
  for (const edge of edges) {
    const [here, there] = direction === "down" ? [edge.from, edge.to] : [edge.to, edge.from];
    if (here !== from || there === from) continue;
    // The nearest in time: the main line, as a rule, since what is skipped to comes later.
    const isNearer = best === null || (direction === "down" ? order(there) < order(best) : order(there) > order(best));
    if (isNearer) best = there;
  }
  return best;
}

function beside(from: string, scene: Scene, direction: "left" | "right"): string | null {
  const box = scene.boxes.get(from);
  if (box === undefined) return null;
  const sign = direction === "right" ? 1 : -1;
  let [best, least] = [null as string | null, Infinity];
  for (const other of scene.boxes.values()) {
    const across = sign * (middleX(other) - middleX(box));
    if (other.isOpen || across < box.width / 2) continue;
    const distance = across + 3 * Math.abs(other.y - box.y);
    if (distance < least) [best, least] = [other.key, distance];
  }
  return best;
}

function middleX(box: SceneBox): number {
  return box.x + box.width / 2;
}

/** The first or last op that ran, as a key. */
export function endOp(hierarchy: Hierarchy, end: "first" | "last"): string | null {
  let best: string | null = null;
  for (const node of hierarchy.nodes.values()) {
    if (node.kind !== "op" || node.host !== null) continue;
    const other = best === null ? null : hierarchy.nodes.get(best)!.order;
    if (other === null || (end === "first" ? node.order < other : node.order > other)) best = node.key;
  }
  return best;
}
