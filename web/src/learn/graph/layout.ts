/** Where the cards of a lesson stand, inputs above and the loss below, and how the lines between them run. */
import type { Rect } from "../../graph/scene";
import type { LearnNode, Lesson } from "../../wire";
import { edgeKey } from "../steps";
import { cardSize } from "./cards";
import { routeEdges, type Route } from "./lines";
import { orderRows, type Spot } from "./ordering";
import { placeRows } from "./placing";
import { findRanks, findSpine } from "./ranking";

export interface EdgePath {
  readonly key: string;
  /** The input, and the op that reads it. */
  readonly from: number;
  readonly to: number;
  readonly route: Route;
}

export interface GraphLayout {
  readonly boxes: readonly Rect[];
  readonly ranks: readonly number[];
  readonly edges: readonly EdgePath[];
  readonly bounds: Rect;
}

/** A line needs some room where it goes by a card. */
const LINE_WIDTH = 12;
const MARGIN = 8;

export function layOut({ nodes, loss }: Pick<Lesson, "nodes" | "loss">): GraphLayout {
  const ranks = findRanks(nodes);
  const spine = findSpine(nodes, ranks, loss);
  const spots: Spot[] = nodes.map((node) => ({
    index: node.id,
    node: node.id,
    rank: ranks[node.id]!,
    ...cardSize(node),
    isSpine: spine.has(node.id),
    isLeaf: node.kind !== "op",
    above: [],
    below: [],
    x: 0,
    y: 0,
  }));
  const ways = waysOf(nodes, ranks, spots);
  const end = loss ?? nodes.at(-1)?.id;
  placeRows(spots, orderRows(spots, end === undefined ? [] : [end]));
  const boxes = nodes.map(({ id }) => boxOf(spots[id]!));
  const routes = routeEdges(ways, spots, boxes);
  const edges = ways.map(({ key, from, to }, at) => ({ key, from, to, route: routes[at]! }));
  return { boxes, ranks, edges, bounds: boundsOf(boxes) };
}

export interface Way {
  readonly key: string;
  readonly from: number;
  readonly to: number;
  /** The spots that it goes through between its ends. */
  readonly through: readonly number[];
}

/** Every edge, cut where it goes through a row; spots for that are added. */
function waysOf(nodes: readonly LearnNode[], ranks: readonly number[], spots: Spot[]): Way[] {
  const ways: Way[] = [];
  const heights = rowHeights(spots);
  for (const { id, parents } of nodes) {
    for (const [at, parent] of parents.entries()) {
      const nth = parents.slice(0, at).filter((one) => one === parent).length;
      const through: number[] = [];
      for (let rank = ranks[parent]! + 1; rank < ranks[id]!; rank += 1) through.push(addSpot(spots, rank, heights[rank]!));
      const chain = [parent, ...through, id];
      for (const [place, spot] of chain.slice(1).entries()) tie(spots, chain[place]!, spot);
      ways.push({ key: edgeKey(parent, id, nth), from: parent, to: id, through });
    }
  }
  return ways;
}

/** A line goes straight past all ops of a row. */
function rowHeights(spots: readonly Spot[]): number[] {
  const heights: number[] = [];
  for (const { rank, height, isLeaf } of spots) heights[rank] = Math.max(heights[rank] ?? 0, isLeaf ? 0 : height);
  return heights;
}

function addSpot(spots: Spot[], rank: number, height: number): number {
  const index = spots.length;
  spots.push({ index, node: null, rank, width: LINE_WIDTH, height, isSpine: false, isLeaf: false, above: [], below: [], x: 0, y: 0 });
  return index;
}

function tie(spots: readonly Spot[], upper: number, lower: number): void {
  spots[upper]!.below.push(lower);
  spots[lower]!.above.push(upper);
}

function boxOf({ x, y, width, height }: Spot): Rect {
  return { x: Math.round(x - width / 2), y: Math.round(y - height / 2), width, height };
}

function boundsOf(boxes: readonly Rect[]): Rect {
  if (boxes.length === 0) return { x: 0, y: 0, width: 1, height: 1 };
  const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))];
  const right = Math.max(...boxes.map(({ x, width }) => x + width));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height));
  return { x: left - MARGIN, y: top - MARGIN, width: right - left + 2 * MARGIN, height: bottom - top + 2 * MARGIN };
}
