/** Where the cards of a lesson stand, inputs above and the loss below, and how the lines between them run. */
import type { Rect } from "../../../ui/pan-zoom";
import type { Cells, LearnNode, Lesson } from "../../../wire";
import { edgeKey } from "../steps";
import { type Route, routeEdges } from "./view";

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

// --- Which row each value stands in: ops below all that they read, inputs just above the first that reads
//   them.

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
function findSpine(nodes: readonly LearnNode[], ranks: readonly number[], end: number | null): ReadonlySet<number> {
  const spine = new Set<number>();
  let at = end ?? nodes.findLast(({ kind }) => kind === "op")?.id ?? null;
  while (at !== null && nodes[at]?.kind === "op") {
    spine.add(at);
    const before: readonly number[] = nodes[at]!.parents.filter((parent) => nodes[parent]?.kind === "op");
    at = before.length === 0 ? null : before.reduce((one, other) => (ranks[other]! > ranks[one]! ? other : one));
  }
  return spine;
}

// --- Where each spot stands: the longest way straight down the middle, all others near what they are tied
//   to.

const GAP_ACROSS = 40;
const GAP_DOWN = 19;
const GAP_BENT = 42;
const LINE_GAP = 18;
const SWEEPS = 10;
/** How much a spot resists being pushed aside. */
const SPINE = 1e6;
const LINE = 8;
const VALUE = 2;

/** Set x and y of all spots, which are their middles. */
function placeRows(spots: readonly Spot[], rows: readonly (readonly number[])[]): void {
  const ordered = rows.map((row) => row.map((at) => spots[at]!));
  for (const row of ordered) settle(row, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const row of sweep % 2 === 0 ? ordered : ordered.toReversed()) {
      settle(row, (spot) => wantedOf(spot, spots, sweep % 2 === 0));
    }
  }
  placeDown(ordered);
}

function wantedOf(spot: Spot, spots: readonly Spot[], isDown: boolean): number {
  if (spot.isSpine) return 0;
  const [first, second] = isDown ? [spot.above, spot.below] : [spot.below, spot.above];
  const ties = first.length > 0 ? first : second;
  if (ties.length === 0) return spot.x;
  return ties.reduce((sum, at) => sum + spots[at]!.x, 0) / ties.length;
}

interface Block {
  sum: number;
  weight: number;
  readonly spots: Spot[];
}

/**
 * As near to where they want to be as their order and their widths allow: neighbours that would overlap move
 * together, to the mean of their wishes.
 */
function settle(row: readonly Spot[], wanted: (spot: Spot) => number): void {
  const offsets = offsetsOf(row);
  const blocks: Block[] = [];
  for (const [at, spot] of row.entries()) {
    const weight = spot.isSpine ? SPINE : spot.node === null ? LINE : VALUE;
    let block: Block = { sum: weight * (wanted(spot) - offsets[at]!), weight, spots: [spot] };
    for (let last = blocks.at(-1); last !== undefined && meanOf(last) > meanOf(block); last = blocks.at(-1)) {
      blocks.pop();
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, spots: [...last.spots, ...block.spots] };
    }
    blocks.push(block);
  }
  let at = 0;
  for (const block of blocks) {
    for (const spot of block.spots) {
      spot.x = meanOf(block) + offsets[at]!;
      at += 1;
    }
  }
}

function meanOf({ sum, weight }: Block): number {
  return sum / weight;
}

/** How far the middle of each is from that of the first, where they stand as close as they may. */
function offsetsOf(row: readonly Spot[]): number[] {
  let offset = 0;
  return row.map((spot, at) => {
    const before = row[at - 1];
    if (before !== undefined) {
      const gap = before.node === null || spot.node === null ? LINE_GAP : GAP_ACROSS;
      offset += (before.width + spot.width) / 2 + gap;
    }
    return offset;
  });
}

/**
 * Each row as high as what stands above it allows. Inputs that stand aside do not push the others down: they go
 * lower by themselves where something is in their way.
 */
function placeDown(rows: readonly (readonly Spot[])[]): void {
  const placed: Spot[] = [];
  let before: number | null = null;
  for (const row of rows) {
    const firm = row.some(({ isLeaf }) => !isLeaf) ? row.filter(({ isLeaf }) => !isLeaf) : row;
    const least = before === null ? Math.max(0, ...row.map(({ height }) => height / 2)) : before + 2 * GAP_DOWN;
    const middle = Math.max(least, ...firm.map((spot) => clearOf(spot, placed)));
    for (const spot of row) spot.y = Math.max(middle, clearOf(spot, placed));
    placed.push(...row);
    before = middle;
  }
}

/** The highest middle at which a spot is clear of what is placed already. */
function clearOf(spot: Spot, placed: readonly Spot[]): number {
  let middle = -Infinity;
  for (const other of placed) {
    if (!overlapAcross(spot, other)) continue;
    // A line that bends needs room for it.
    const isBent = other.below.includes(spot.index) && Math.abs(other.x - spot.x) > 8;
    middle = Math.max(middle, other.y + (other.height + spot.height) / 2 + (isBent ? GAP_BENT : GAP_DOWN));
  }
  return middle;
}

function overlapAcross(one: Spot, other: Spot): boolean {
  return Math.abs(one.x - other.x) < (one.width + other.width) / 2 + GAP_DOWN;
}

// --- From left to right in each row: inputs as they are read, and with few lines that cross.

/** A value, or a place where a long line goes through a row. */
export interface Spot {
  readonly index: number;
  /** The value that stands here; null where a line goes by. */
  readonly node: number | null;
  readonly rank: number;
  readonly width: number;
  readonly height: number;
  readonly isSpine: boolean;
  /** An input: it may stand lower than its row where there is no room. */
  readonly isLeaf: boolean;
  /** Spots of the row above and below that it is tied to. */
  readonly above: number[];
  readonly below: number[];
  /** The middle. */
  x: number;
  y: number;
}

const ORDER_SWEEPS = 6;

/** `roots`: where to begin, the end of all first. */
function orderRows(spots: readonly Spot[], roots: readonly number[]): number[][] {
  let rows = firstRows(spots, roots);
  let [best, fewest] = [rows, numCrossings(spots, rows)];
  for (let sweep = 0; sweep < ORDER_SWEEPS && fewest > 0; sweep += 1) {
    rows = swept(spots, rows, sweep % 2 === 0);
    const crossings = numCrossings(spots, rows);
    if (crossings < fewest) [best, fewest] = [rows, crossings];
  }
  return best;
}

/** As met from the end upwards, the inputs of each op from left to right. */
function firstRows(spots: readonly Spot[], roots: readonly number[]): number[][] {
  const rows: number[][] = Array.from({ length: 1 + Math.max(-1, ...spots.map(({ rank }) => rank)) }, () => []);
  const seen = new Set<number>();
  const waiting = [...spots.map(({ index }) => index).toReversed(), ...roots.toReversed()];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const spot = spots[at]!;
    rows[spot.rank]!.push(at);
    waiting.push(...spot.above.toReversed());
  }
  return rows;
}

function swept(spots: readonly Spot[], rows: readonly (readonly number[])[], isDown: boolean): number[][] {
  const place = placesIn(rows);
  const next = rows.map((row) => [...row]);
  for (const row of isDown ? next : next.toReversed()) {
    const wanted = new Map(row.map((at) => [at, meanPlace(spots[at]!, place, isDown)]));
    row.sort((one, other) => wanted.get(one)! - wanted.get(other)! || place.get(one)! - place.get(other)!);
    for (const [index, at] of row.entries()) place.set(at, index);
  }
  return next;
}

function meanPlace(spot: Spot, place: ReadonlyMap<number, number>, isDown: boolean): number {
  const ties = isDown ? spot.above : spot.below;
  if (ties.length === 0) return place.get(spot.index)!;
  return ties.reduce((sum, at) => sum + place.get(at)!, 0) / ties.length;
}

function placesIn(rows: readonly (readonly number[])[]): Map<number, number> {
  return new Map(rows.flatMap((row) => row.map((at, index) => [at, index] as const)));
}

function numCrossings(spots: readonly Spot[], rows: readonly (readonly number[])[]): number {
  const place = placesIn(rows);
  let crossings = 0;
  for (const row of rows) {
    const ends = row.flatMap((at) => spots[at]!.below.map((to) => [place.get(at)!, place.get(to)!] as const));
    for (const [index, [from, to]] of ends.entries()) {
      for (const [other, end] of ends.slice(0, index)) {
        if ((from - other) * (to - end) < 0) crossings += 1;
      }
    }
  }
  return crossings;
}

// --- How large the card of a value is, and whether its numbers are single cells or a picture.

/** As in learn.css. */
export const CELL = 16;
export const PITCH = 17;
const PADDING = 12;
const BETWEEN = 20;
const HEAD = 28;
const FOOT = 26;
const LEAST_WIDTH = 132;
const MOST_WIDTH = 260;
/** More than this is a picture. */
const MOST_COLUMNS = 8;
const MOST_ROWS = 6;
/** A picture has so much room. */
const PICTURE = { width: 92, height: 84 } as const;
const LEAST_SIDE = 8;

interface Size {
  readonly width: number;
  readonly height: number;
}

export function isPicture(cells: Cells): boolean {
  return !cells.is_whole || cells.num_columns > MOST_COLUMNS || cells.num_rows > MOST_ROWS;
}

/** Of the numbers of one tensor. */
export function gridSize(cells: Cells): Size {
  const [columns, rows] = [Math.max(1, cells.num_columns), Math.max(1, cells.num_rows)];
  if (!isPicture(cells)) return { width: columns * PITCH - 1, height: rows * PITCH - 1 };
  const scale = Math.min(PICTURE.width / columns, PICTURE.height / rows, CELL);
  return {
    width: Math.max(LEAST_SIDE, Math.round(columns * scale)),
    height: Math.max(LEAST_SIDE, Math.round(rows * scale)),
  };
}

export function cardSize(node: LearnNode): Size {
  const grid = gridSize(node.value);
  const words = 7.4 * node.name.length + 6 * Math.min(16, sideText(node).length) + 2 * PADDING + 12;
  const width = Math.max(LEAST_WIDTH, 2 * grid.width + BETWEEN + 2 * PADDING, Math.min(MOST_WIDTH, words));
  // Even, so that lines down the middle are straight.
  return { width: 2 * Math.round(width / 2), height: HEAD + grid.height + FOOT };
}

/** At the right of the name: how it was made, or what it is. */
export function sideText({ kind, text, name, is_named }: LearnNode): string {
  if (kind !== "op") return kind;
  // What has no name is called after its op: then what was written says more.
  return is_named || text !== name ? text : "";
}
