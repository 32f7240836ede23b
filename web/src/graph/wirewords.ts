/** What is written at the head of a line: as which argument it arrives, in which passes, under which condition. */
import type { PlacedWire } from "./layoutgraph";
import type { GraphNode, Hierarchy, Use } from "./model";
import { wordsBetween } from "./passes";
import type { Scene } from "./scene";

/** The words of one picture: they depend on what is open, and are asked for in every frame. */
export class WireWords {
  private readonly known = new WeakMap<PlacedWire, string>();

  constructor(private readonly scene: Scene) {}

  of(wire: PlacedWire): string {
    let words = this.known.get(wire);
    if (words === undefined) {
      words = wire.isCondition ? this.conditions(wire) : this.uses(wire);
      this.known.set(wire, words);
    }
    return words;
  }

  private conditions(wire: PlacedWire): string {
    return unique(wire.edges.map((index) => this.scene.hierarchy.edges[index]!.condition)).join(" / ");
  }

  private uses(wire: PlacedWire): string {
    const tree = this.scene.hierarchy;
    const ends = new Map<string, { from: GraphNode; to: GraphNode; uses: Use[] }>();
    for (const index of wire.edges) {
      const edge = tree.edges[index]!;
      const [from, to] = [this.shown(edge.from), this.shown(edge.to)];
      if (from === undefined || to === undefined) continue;
      const name = `${from.key} ${to.key}`;
      const known = ends.get(name);
      if (known === undefined) ends.set(name, { from, to, uses: [...edge.uses] });
      else known.uses.push(...edge.uses);
    }
    const texts = [...ends.values()].map(({ from, to, uses }) =>
      isOnlyOne(tree, wire, to) ? "" : wordsBetween(tree, uses, from, to),
    );
    return unique(texts).join(", ");
  }

  /** The box on screen that a node is, or is inside of. */
  private shown(key: string): GraphNode | undefined {
    const { hierarchy, boxes } = this.scene;
    for (let at: string | null = key; at !== null; at = hierarchy.nodes.get(at)?.parent ?? null) {
      if (boxes.has(at)) return hierarchy.nodes.get(at);
    }
    return undefined;
  }
}

/** Where all that an op is given comes along one line, its arguments need no names. */
function isOnlyOne(tree: Hierarchy, wire: PlacedWire, to: GraphNode): boolean {
  if (tree.form === "rolled" || to.kind !== "op") return false;
  return (tree.reaching.get(to.key) ?? []).every((edge) => wire.edges.includes(edge));
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== "");
}

const wordsOf = new WeakMap<Scene, WireWords>();

export function wireWords(scene: Scene): WireWords {
  let words = wordsOf.get(scene);
  if (words === undefined) {
    words = new WireWords(scene);
    wordsOf.set(scene, words);
  }
  return words;
}
