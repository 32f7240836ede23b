/** Order each layer from left to right so that few lines cross, with the main line first. */
import { type Layers, lowerOffset, type Piece, spreadArrivals, upperOffset, type Vertex } from "./layers";

const MOST_SWEEPS = 8;

export function orderLayers(layers: Layers): void {
  let rows = firstOrder(layers);
  let place = places(layers, rows);
  let best = rows;
  let fewest = numCrossings(layers, rows, place);
  for (let sweep = 0; sweep < MOST_SWEEPS && fewest > 0; sweep += 1) {
    rows = swept(layers, rows, place, sweep % 2 === 0);
    place = places(layers, rows);
    const crossings = numCrossings(layers, rows, place);
    if (crossings < fewest) {
      fewest = crossings;
      best = rows;
    }
  }
  layers.rows.push(...best);
}

/** As met when following the lines from the top, the main line before others: it comes to stand at the left. */
function firstOrder(layers: Layers): Vertex[][] {
  const numRanks = layers.vertices.reduce((most, vertex) => Math.max(most, vertex.rank), 0) + 1;
  const rows: Vertex[][] = Array.from({ length: numRanks }, () => []);
  const seen = new Uint8Array(layers.vertices.length);
  const roots = layers.vertices
    .filter((vertex) => !layers.above.has(vertex))
    .sort((a, b) => Number(a.kind === "bend") - Number(b.kind === "bend") || mainFirst(layers, a, b) || a.order - b.order);
  for (const root of roots) {
    const waiting = [root];
    for (let vertex = waiting.pop(); vertex !== undefined; vertex = waiting.pop()) {
      if (seen[vertex.index] === 1) continue;
      seen[vertex.index] = 1;
      rows[vertex.rank]!.push(vertex);
      // The last is met first.
      const onward = [...(layers.below.get(vertex) ?? [])].reverse().sort((a, b) => Number(a.isMain) - Number(b.isMain));
      for (const piece of onward) waiting.push(piece.lower);
    }
  }
  return rows;
}

function mainFirst(layers: Layers, a: Vertex, b: Vertex): number {
  const isMain = (vertex: Vertex): boolean => layers.below.get(vertex)?.some((piece) => piece.isMain) ?? false;
  return Number(isMain(b)) - Number(isMain(a));
}

function places(layers: Layers, rows: readonly (readonly Vertex[])[]): Float64Array {
  const place = new Float64Array(layers.vertices.length);
  for (const row of rows) for (const [index, vertex] of row.entries()) place[vertex.index] = index;
  return place;
}

/** Put each vertex at the mean place of its neighbours in the layer before, one layer after the other. */
function swept(layers: Layers, rows: readonly Vertex[][], before: Float64Array, isDown: boolean): Vertex[][] {
  const place = before.slice();
  const next = rows.map((row) => [...row]);
  const order = isDown ? next : [...next].reverse();
  for (const row of order) {
    const wanted = new Map<Vertex, number>();
    for (const vertex of row) {
      const pieces = (isDown ? layers.above : layers.below).get(vertex) ?? [];
      wanted.set(vertex, pieces.length === 0 ? place[vertex.index]! : meanPlace(pieces, place, isDown));
    }
    row.sort((a, b) => wanted.get(a)! - wanted.get(b)! || place[a.index]! - place[b.index]!);
    for (const [index, vertex] of row.entries()) place[vertex.index] = index;
  }
  return next;
}

function meanPlace(pieces: readonly Piece[], place: Float64Array, isDown: boolean): number {
  let sum = 0;
  // Where a line meets an open box matters too: its ports are spread over its width.
  for (const piece of pieces) {
    const vertex = isDown ? piece.upper : piece.lower;
    sum += place[vertex.index]! + portShare(piece, isDown);
  }
  return sum / pieces.length;
}

/** Between 0 and 1, from left to right, where on a box the piece is fixed. */
function portShare(piece: Piece, isUpper: boolean): number {
  const vertex = isUpper ? piece.upper : piece.lower;
  if (!isUpper && vertex.kind === "box") return piece.line.share ?? 0.5;
  if (vertex.kind !== "open") return 0.5;
  const offset = isUpper ? piece.line.leaves : (piece.line.reaches ?? vertex.center);
  return Math.min(1, Math.max(0, offset / vertex.width));
}

function numCrossings(layers: Layers, rows: readonly (readonly Vertex[])[], place: Float64Array): number {
  let crossings = 0;
  for (const row of rows) {
    const ends: { readonly from: number; readonly to: number }[] = [];
    for (const vertex of row) {
      for (const piece of layers.below.get(vertex) ?? []) {
        ends.push({
          from: place[vertex.index]! + portShare(piece, true),
          to: place[piece.lower.index]! + portShare(piece, false),
        });
      }
    }
    crossings += crossingsBetween(ends);
  }
  return crossings;
}

/** Inversions, counted by inserting into a sorted list: layers are short. */
function crossingsBetween(ends: { readonly from: number; readonly to: number }[]): number {
  ends.sort((a, b) => a.from - b.from || a.to - b.to);
  const sorted: number[] = [];
  let crossings = 0;
  for (const { to } of ends) {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! <= to) low = middle + 1;
      else high = middle;
    }
    crossings += sorted.length - low;
    sorted.splice(low, 0, to);
  }
  return crossings;
}

// --- Give every box of a group its place from left to right: lines that matter become exactly straight.

const BOX_GAP = 28;
const BEND_GAP = 14;
const NUM_SWEEPS = 6;

/** Sets `x` of every vertex and `reaches` of every line. */
export function alignColumns(layers: Layers): void {
  const place = places(layers, layers.rows);
  spreadArrivals(layers, place);
  placeBlocks(layers, makeBlocks(layers, place));
}

/** Vertices that move together: block of each, and its distance from the block's position. */
interface Blocks {
  readonly blockOf: Int32Array;
  readonly shift: Float64Array;
  readonly numBlocks: number;
}

function makeBlocks(layers: Layers, place: Float64Array): Blocks {
  const up = new Map<Vertex, Piece>();
  const down = new Map<Vertex, Piece>();
  const accepted: Piece[][] = layers.rows.map(() => []);
  const importance = (piece: Piece): number => {
    if (piece.isMain) return 0;
    return piece.upper.kind === "bend" && piece.lower.kind === "bend" ? 1 : 2;
  };
  const byImportance = [...layers.pieces].sort((a, b) => importance(a) - importance(b));
  for (const piece of byImportance) {
    if (down.has(piece.upper) || up.has(piece.lower)) continue;
    const rivals = accepted[piece.upper.rank]!;
    if (rivals.some((rival) => crosses(piece, rival, place))) continue;
    rivals.push(piece);
    down.set(piece.upper, piece);
    up.set(piece.lower, piece);
  }
  const blockOf = new Int32Array(layers.vertices.length).fill(-1);
  const shift = new Float64Array(layers.vertices.length);
  let numBlocks = 0;
  for (const row of layers.rows) {
    for (const vertex of row) {
      const piece = up.get(vertex);
      if (piece === undefined) {
        blockOf[vertex.index] = numBlocks;
        numBlocks += 1;
      } else {
        blockOf[vertex.index] = blockOf[piece.upper.index]!;
        shift[vertex.index] = shift[piece.upper.index]! + upperOffset(piece) - lowerOffset(piece);
      }
    }
  }
  return { blockOf, shift, numBlocks };
}

function crosses(one: Piece, other: Piece, place: Float64Array): boolean {
  const above = place[one.upper.index]! - place[other.upper.index]!;
  const below = place[one.lower.index]! - place[other.lower.index]!;
  return above * below < 0;
}

/** How far from another block one stands at least. */
interface Bound {
  readonly other: number;
  readonly distance: number;
}

/** For each block those at its left, and those at its right. */
interface Bounds {
  readonly before: readonly Bound[][];
  readonly after: readonly Bound[][];
}

/** A line between two blocks: it is straight when position + `here` equals the other's position + `there`. */
interface Pull extends Bound {
  readonly weight: number;
}

function placeBlocks(layers: Layers, blocks: Blocks): void {
  const { blockOf, shift, numBlocks } = blocks;
  const bounds = findBounds(layers, blocks);
  const { before, after } = bounds;
  const order = leftToRight(bounds);
  const position = new Float64Array(numBlocks);
  for (const block of order) {
    for (const { other, distance } of before[block]!) {
      position[block] = Math.max(position[block]!, position[other]! + distance);
    }
  }
  const pulls = findPulls(layers, blocks);
  for (let sweep = 0; sweep < NUM_SWEEPS; sweep += 1) {
    const blocksInTurn = sweep % 2 === 0 ? order.toReversed() : order;
    for (const block of blocksInTurn) {
      if (pulls[block]!.length === 0) continue;
      const low = Math.max(-Infinity, ...before[block]!.map((c) => position[c.other]! + c.distance));
      const high = Math.min(Infinity, ...after[block]!.map((c) => position[c.other]! - c.distance));
      position[block] = Math.max(low, Math.min(high, wantedPosition(pulls[block]!, position)));
    }
  }
  for (const vertex of layers.vertices) {
    vertex.x = position[blockOf[vertex.index]!]! + shift[vertex.index]!;
  }
}

function findBounds(layers: Layers, { blockOf, shift, numBlocks }: Blocks): Bounds {
  const [before, after] = [0, 1].map(() => Array.from({ length: numBlocks }, (): Bound[] => []));
  for (const row of layers.rows) {
    for (const [index, right] of row.entries()) {
      const left = row[index - 1];
      if (left === undefined) continue;
      const isNarrow = left.kind === "bend" || right.kind === "bend" || left.height === 0 || right.height === 0;
      const gap = left.width + (isNarrow ? BEND_GAP : BOX_GAP);
      const distance = shift[left.index]! + gap - shift[right.index]!;
      after![blockOf[left.index]!]!.push({ other: blockOf[right.index]!, distance });
      before![blockOf[right.index]!]!.push({ other: blockOf[left.index]!, distance });
    }
  }
  return { before: before!, after: after! };
}

/** Blocks sorted so that each comes after all at its left. Blocks do not cross, so that there is no cycle. */
function leftToRight({ before, after }: Bounds): number[] {
  const missing = before.map((list) => list.length);
  const order = missing.flatMap((count, block) => (count === 0 ? [block] : []));
  // What is pushed on the way is visited too.
  for (const block of order) {
    for (const { other } of after[block]!) {
      missing[other] = missing[other]! - 1;
      if (missing[other] === 0) order.push(other);
    }
  }
  return order;
}

function findPulls(layers: Layers, { blockOf, shift, numBlocks }: Blocks): Pull[][] {
  const pulls: Pull[][] = Array.from({ length: numBlocks }, () => []);
  const pull = (upper: Vertex, upperAt: number, lower: Vertex, lowerAt: number, weight: number): void => {
    const [above, below] = [blockOf[upper.index]!, blockOf[lower.index]!];
    if (above === below) return;
    const distance = shift[upper.index]! + upperAt - (shift[lower.index]! + lowerAt);
    pulls[below]!.push({ other: above, distance, weight });
    pulls[above]!.push({ other: below, distance: -distance, weight });
  };
  for (const piece of layers.pieces) {
    pull(piece.upper, upperOffset(piece), piece.lower, lowerOffset(piece), piece.isMain ? 4 : 1);
  }
  for (const { line, column } of layers.runs) {
    for (const end of [column.at(0), column.at(-1)]) {
      if (end !== undefined) pull(line.from, line.leaves, end, end.center, 1);
    }
  }
  return pulls;
}

function wantedPosition(pulls: readonly Pull[], position: Float64Array): number {
  let [sum, weights] = [0, 0];
  for (const { other, distance, weight } of pulls) {
    sum += (position[other]! + distance) * weight;
    weights += weight;
  }
  return sum / weights;
}
