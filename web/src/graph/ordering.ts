/** Order each layer from left to right so that few lines cross, with the main line first. */
import type { Layers, Piece, Vertex } from "./layers";

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
