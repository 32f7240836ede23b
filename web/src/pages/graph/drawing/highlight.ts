/** What a selection lights up: its ancestors, its descendants, and the edges between them. */
import { obtain } from "../../../data/collections";
import { ancestors, chipReaders, descendants, groupsAround, opNodesInside } from "../../../data/pass/edges";
import type { Hierarchy } from "../../../data/pass/model";
import type { PlacedWire } from "../../../ui/graph-layout/layout-graph";
import type { Scene, SceneBox } from "./scene";

export type Mark = "plain" | "off" | "up" | "down" | "selected";

export class Highlight {
  readonly up: ReadonlySet<string>;
  readonly down: ReadonlySet<string>;
  private readonly groups = new Map<string, Mark>();
  private readonly inside: ReadonlySet<string>;
  readonly isGroup: boolean;
  private readonly wireMarks = new WeakMap<PlacedWire, Mark>();

  constructor(
    private readonly hierarchy: Hierarchy,
    readonly selected: string | null,
  ) {
    const node = selected === null ? undefined : hierarchy.nodes.get(selected);
    this.isGroup = node?.kind === "group";
    this.up = new Set(node && ancestors(hierarchy, node.key));
    this.inside = new Set(node && opNodesInside(hierarchy, node.key));
    this.down = new Set(node && [...chipReaders(hierarchy, node), ...descendants(hierarchy, node.key)]);
    for (const one of this.down) this.markAround(one, "down");
    for (const one of this.up) this.markAround(one, "up");
    for (const one of this.inside) this.markAround(one, "selected");
    if (!this.isGroup) return;
    for (const key of this.groups.keys()) {
      if ([...groupsAround(hierarchy, key)].includes(selected!)) this.groups.set(key, "plain");
    }
  }

  private markAround(key: string, mark: Mark): void {
    for (const group of groupsAround(this.hierarchy, key)) {
      if (this.groups.get(group) === mark) return;
      this.groups.set(group, mark);
    }
  }

  /** Of a box: an op, or a closed group and what is in it. */
  ofBox(key: string): Mark {
    if (this.selected === null) return "plain";
    if (key === this.selected) return "selected";
    if (this.inside.has(key)) return "plain";
    if (this.up.has(key)) return "up";
    if (this.down.has(key)) return "down";
    return this.groups.get(key) ?? "off";
  }

  ofWire(wire: PlacedWire): Mark {
    if (this.selected === null) return "plain";
    return obtain(this.wireMarks, wire, () => this.markOf(wire));
  }

  private markOf(wire: PlacedWire): Mark {
    let found: Mark = "off";
    for (const index of wire.edges) {
      const mark = this.ofEdge(index);
      if (RANK[mark] > RANK[found]) found = mark;
    }
    return found;
  }

  private ofEdge(index: number): Mark {
    const { kind, from, to } = this.hierarchy.edges[index]!;
    if (kind === "condition") return this.inside.has(from) || this.inside.has(to) ? "selected" : "off";
    // What goes on inside a selected group is neither before nor after it.
    if (this.inside.has(from)) return this.inside.has(to) && this.isGroup ? "plain" : "selected";
    if (this.up.has(from) && (this.up.has(to) || this.inside.has(to))) return "up";
    return this.down.has(from) && this.down.has(to) ? "down" : "off";
  }
}

const RANK: Record<Mark, number> = { off: 0, plain: 1, down: 2, up: 3, selected: 4 };

// --- Where the arrow keys lead from a box: along the edges, or to the box beside it.

export type Direction = "up" | "down" | "left" | "right";

/** The next box in a direction; null where there is none. */
export function neighbour(direction: Direction, from: string, scene: Scene): string | null {
  if (direction === "left" || direction === "right") return beside(from, scene, direction);
  // Into an open group, and out of it, as if its head stood between what is before it and what is in it.
  if (direction === "down" && scene.boxes.get(from)?.isOpen === true) return scene.hierarchy.nodes.get(from)?.children[0] ?? null;
  return alongEdge(from, scene, direction);
}

function alongEdge(from: string, scene: Scene, direction: "up" | "down"): string | null {
  const { edges, nodes } = scene.hierarchy;
  const [near, far] = direction === "down" ? (["from", "to"] as const) : (["to", "from"] as const);
  let best: string | null = null;
  const order = (key: string): number => nodes.get(key)?.order ?? 0;
  for (const edge of edges) {
    if (edge.kind === "condition" || scene.boxFor(edge[near])?.key !== from) continue;
    const there = scene.boxFor(edge[far])?.key ?? from;
    if (there === from) continue;
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

export function endOp(hierarchy: Hierarchy, end: "first" | "last"): string | null {
  const ops = [...hierarchy.nodes.values()].filter((node) => node.kind === "op" && node.host === null);
  return ops.sort((a, b) => a.order - b.order).at(end === "first" ? 0 : -1)?.key ?? null;
}
