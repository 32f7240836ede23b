/** What a selection lights up: its ancestors, its descendants, and the edges between them. */
import { ancestors, chipReaders, descendants, opNodesInside } from "./edges";
import type { PlacedWire } from "./layoutgraph";
import type { Hierarchy } from "./model";

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
    if (this.isGroup) this.clearInside();
  }

  private clearInside(): void {
    for (const key of this.groups.keys()) if (this.isInside(key)) this.groups.set(key, "plain");
  }

  private isInside(key: string): boolean {
    let at = this.hierarchy.nodes.get(key)?.parent ?? null;
    while (at !== null && at !== this.selected) at = this.hierarchy.nodes.get(at)?.parent ?? null;
    return at !== null;
  }

  private markAround(key: string, mark: Mark): void {
    let at = this.hierarchy.nodes.get(key)?.parent ?? null;
    while (at !== null && this.groups.get(at) !== mark) {
      this.groups.set(at, mark);
      at = this.hierarchy.nodes.get(at)?.parent ?? null;
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
    let mark = this.wireMarks.get(wire);
    if (mark === undefined) {
      mark = this.markOf(wire);
      this.wireMarks.set(wire, mark);
    }
    return mark;
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
