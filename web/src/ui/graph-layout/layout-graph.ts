/** What the layout is given and what it gives back: plain data that travels to a worker and home again. */
import { wordsBetween } from "../../data/pass/edges";
import type { Chip, GraphEdge, GraphNode, Hierarchy } from "../../data/pass/model";
import type { Rect, Size } from "../pan-zoom";
import { textWidth } from "../text-width";

/** The sizes that the layout and the painter agree on, in pixels at 100 %. */
export const SIZES = {
  bodyWidth: 184,
  bodyHeight: 34,
  header: 28,
  padding: 16,
  chipHeight: 18,
  chipGap: 4,
  chipArm: 14,
  widestChip: 150,
} as const;

/** A node as the layout sees it: numbers for its place in the tree, its size when closed, and its weight. */
export interface LayoutNode {
  readonly key: string;
  readonly parent: number;
  readonly children: readonly number[];
  readonly order: number;
  /** Room for chips at its left. */
  readonly left: number;
  readonly height: number;
  readonly numOps: number;
  readonly isGroup: boolean;
  /** Stays at the top of the drawing, as an input of the model does. */
  readonly isPinned: boolean;
  /** Its tensor has another shape than what it was made from: worth writing at the edge. */
  readonly isReshaping: boolean;
  readonly titleWidth: number;
  /** How large its box is, where that is not as large as all. */
  readonly body?: Size;
}

export interface LayoutGraph {
  /** Parents stand before their children; the first is the root. */
  readonly nodes: readonly LayoutNode[];
  /** Pairs of indices: from, to. */
  readonly edges: readonly number[];
  /** From this edge on, they are conditions. */
  readonly firstCondition: number;
  /** For each edge which argument of its reader it is, -1 where that does not matter. */
  readonly slots: readonly number[];
  /** For each edge how wide the words at its head are. */
  readonly words: readonly number[];
  /** For each edge which lane it runs in: those between the same ends in other lanes run beside each other. */
  readonly lanes?: readonly number[];
  /** Is every line drawn, however far it goes? Else chips stand for the ends of long ones. */
  readonly hasLongLines?: boolean;
  /** How high the band is in which a line moves sideways, at most. */
  readonly mostBend?: number;
}

/** A box on screen: x and y in the frame of its group; `inner` is the layout of its inside when it is open. */
export interface PlacedBox extends Rect {
  readonly key: string;
  readonly inner: number | null;
}

/** A far source repeated above its reader, or a far reader named below its source, instead of a long edge. */
export interface PlacedChip extends Rect {
  readonly keys: readonly string[];
  readonly names: "sources" | "readers";
}

/** A piece of an edge within one group. */
export interface PlacedWire {
  /** Where it starts, then for each piece `0 x y` for a line or `1 x1 y1 x2 y2 x y` for a curve. */
  readonly path: readonly number[];
  /** Indices into Hierarchy.edges of all that runs through it. */
  readonly edges: readonly number[];
  /** Whether it starts, ends at a box and not at a border. */
  readonly hasTail: boolean;
  readonly hasHead: boolean;
  readonly isCondition: boolean;
  /** Where to write the shape, and on which side; null for nowhere. */
  readonly label: LabelPlace | null;
  /** Where to write as which argument, when or why it arrives: beside its head, or beside its way up. */
  readonly words: LabelPlace | null;
}

export interface LabelPlace {
  readonly x: number;
  readonly y: number;
  readonly side: "left" | "right";
}

/** The inside of one open group, in its own frame. */
export interface GroupLayout extends Size {
  readonly id: number;
  readonly key: string;
  readonly boxes: readonly PlacedBox[];
  readonly chips: readonly PlacedChip[];
  readonly wires: readonly PlacedWire[];
}

export function chipWidth(text: string): number {
  return Math.min(SIZES.widestChip, Math.ceil(textWidth(text)) + 16);
}

export function shownChips(node: GraphNode, showBuffers: boolean): Chip[] {
  const chips = node.chips.filter((chip) => chip.kind !== "buffer" || showBuffers);
  if (chips.length <= 4) return chips;
  return [...chips.slice(0, 3), { ...chips[3]!, text: `${chips.length - 3} more` }];
}

export function toLayoutGraph(hierarchy: Hierarchy, showBuffers: boolean): LayoutGraph {
  const keys = inTreeOrder(hierarchy);
  const indexOf = new Map(keys.map((key, index) => [key, index]));
  const nodes = keys.map((key): LayoutNode => {
    const node = hierarchy.nodes.get(key)!;
    const chips = shownChips(node, showBuffers);
    const widest = Math.max(0, ...chips.map((chip) => chipWidth(chip.text)));
    return {
      key,
      parent: node.parent === null ? -1 : indexOf.get(node.parent)!,
      children: node.children.map((child) => indexOf.get(child)!),
      order: node.order,
      left: chips.length === 0 ? 0 : widest + SIZES.chipArm,
      height: Math.max(SIZES.bodyHeight, chips.length * (SIZES.chipHeight + SIZES.chipGap) - SIZES.chipGap),
      numOps: node.numOps,
      isGroup: node.kind === "group",
      isPinned: node.opKind === "input",
      isReshaping: isReshaping(hierarchy, node),
      titleWidth: node.kind === "op" ? 0 : headWidth(node),
    };
  });
  const edges = hierarchy.edges.flatMap((edge) => [indexOf.get(edge.from)!, indexOf.get(edge.to)!]);
  const numData = hierarchy.edges.findIndex((edge) => edge.kind === "condition");
  return {
    nodes,
    edges,
    firstCondition: numData < 0 ? hierarchy.edges.length : numData,
    slots: hierarchy.edges.map((edge) => edge.slot),
    words: hierarchy.edges.map((edge) => headWordsWidth(hierarchy, edge)),
  };
}

/** As wide as they are while both ends are on screen themselves. */
function headWordsWidth(hierarchy: Hierarchy, edge: GraphEdge): number {
  const [from, to] = [hierarchy.nodes.get(edge.from)!, hierarchy.nodes.get(edge.to)!];
  const words = edge.kind === "condition" ? edge.condition : wordsBetween(hierarchy, edge.uses, from, to);
  return words === "" ? 0 : textWidth(words);
}

/** Room for chevron, title, class and figure in the head of an open group; very long names are cut. */
function headWidth(node: GraphNode): number {
  return Math.min(420, textWidth(`${node.title}  ${node.times}`) * 1.06 + textWidth(node.subtitle) + 100);
}

function inTreeOrder(hierarchy: Hierarchy): string[] {
  const keys = [hierarchy.root];
  // What is pushed on the way is visited too.
  for (const key of keys) keys.push(...hierarchy.nodes.get(key)!.children);
  return keys;
}

function isReshaping(hierarchy: Hierarchy, node: GraphNode): boolean {
  const leaving = hierarchy.leaving.get(node.key)?.[0];
  const reaching = hierarchy.reaching.get(node.key)?.[0];
  if (leaving === undefined) return false;
  return reaching === undefined || hierarchy.edges[leaving]!.shape !== hierarchy.edges[reaching]!.shape;
}
