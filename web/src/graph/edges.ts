/** What follows from edges: ancestors, descendants, and the edges between closed groups. */
import type { GraphNode, Hierarchy } from "./model";

/** Keys of the op nodes inside a node; of an op itself, of a chip none. */
export function opNodesInside(hierarchy: Hierarchy, key: string): string[] {
  const found: string[] = [];
  const waiting = [key];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const node = hierarchy.nodes.get(at);
    if (node === undefined) continue;
    if (node.kind === "op") found.push(at);
    else for (let index = node.children.length - 1; index >= 0; index -= 1) waiting.push(node.children[index]!);
  }
  return found;
}

/** Indices of all ops inside a node, in the order they ran. */
export function opsInside(hierarchy: Hierarchy, key: string): number[] {
  const ops = opNodesInside(hierarchy, key).flatMap((inside) => [...hierarchy.nodes.get(inside)!.ops]);
  return ops.sort((a, b) => a - b);
}

/** Op nodes from which a value reaches this node, without those inside it. */
export function ancestors(hierarchy: Hierarchy, key: string): Set<string> {
  return reachable(hierarchy, key, hierarchy.reaching, "from");
}

/** Op nodes that a value of this node reaches, without those inside it. */
export function descendants(hierarchy: Hierarchy, key: string): Set<string> {
  return reachable(hierarchy, key, hierarchy.leaving, "to");
}

function reachable(
  hierarchy: Hierarchy,
  key: string,
  edgesAt: Hierarchy["leaving"],
  end: "from" | "to",
): Set<string> {
  const inside = startingPoints(hierarchy, key, end);
  const found = new Set<string>();
  const waiting = [...inside];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const index of edgesAt.get(at) ?? []) {
      const next = hierarchy.edges[index]![end];
      if (found.has(next) || inside.has(next)) continue;
      found.add(next);
      waiting.push(next);
    }
  }
  return found;
}

/** A chip has no edges of its own: what it reaches are the boxes that read it, and all that follows. */
function startingPoints(hierarchy: Hierarchy, key: string, end: "from" | "to"): Set<string> {
  const node = hierarchy.nodes.get(key);
  if (node?.host == null) return new Set(opNodesInside(hierarchy, key));
  return new Set(end === "to" ? chipReaders(hierarchy, node) : []);
}

/** The boxes that read what they show as this chip; none for a node that is a box itself. */
export function chipReaders(hierarchy: Hierarchy, { key, host }: GraphNode): string[] {
  const readers: string[] = [];
  if (host === null) return readers;
  for (const node of hierarchy.nodes.values()) {
    if (node.chips.some((chip) => chip.key === key && chip.isRead)) readers.push(node.key);
  }
  return readers;
}

/** The box that stands for a node while only these groups are open: itself, or the closed group around it. */
export function shownAs(hierarchy: Hierarchy, key: string, open: ReadonlySet<string>): string {
  const node = hierarchy.nodes.get(key);
  let shown = node?.host ?? key;
  for (let at = hierarchy.nodes.get(shown)?.parent ?? null; at !== null; ) {
    if (at !== hierarchy.root && !open.has(at)) shown = at;
    at = hierarchy.nodes.get(at)?.parent ?? null;
  }
  return shown;
}

/** An edge between two boxes that are on screen, and the edges between ops that it stands for. */
export interface LiftedEdge {
  readonly from: string;
  readonly to: string;
  readonly edges: readonly number[];
}

/** The edges that carry tensors between the boxes on screen while these groups are open. */
export function lifted(hierarchy: Hierarchy, open: ReadonlySet<string>): LiftedEdge[] {
  const shown = new Map<string, string>();
  const lift = (key: string): string => {
    const known = shown.get(key);
    if (known !== undefined) return known;
    const found = shownAs(hierarchy, key, open);
    shown.set(key, found);
    return found;
  };
  const found = new Map<string, { from: string; to: string; edges: number[] }>();
  for (const [index, edge] of hierarchy.edges.entries()) {
    if (edge.kind === "condition") continue;
    const [from, to] = [lift(edge.from), lift(edge.to)];
    // What happens inside a closed group stays there; a loop of an op on itself is drawn.
    if (from === to && (edge.from !== edge.to || from !== edge.from)) continue;
    const name = `${from} ${to}`;
    const known = found.get(name);
    if (known === undefined) found.set(name, { from, to, edges: [index] });
    else known.edges.push(index);
  }
  return [...found.values()];
}
