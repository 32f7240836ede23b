/** Give every box of a group its place from top to bottom: as high as what is above it allows, not layer by layer. */
import { type Bend, type Layers, lowerOffset, type Run, upperOffset, type Vertex } from "./layers";

const BOX_GAP = 16;
const LABEL_GAP = 24;
const ARROW = 10;

/** Sets `y` of every vertex, and the bends; returns the height. `mostBend`: how high the band of a line that moves far sideways may be. */
export function stackRows(layers: Layers, top: number, padding: number, mostBend: number): number {
  const gaps = findBends(layers);
  const skyline = new Skyline(top);
  const labelled = new Set(layers.runs.filter(({ line }) => line.wantsLabel).map(({ line }) => line.from));
  for (const [rank, row] of layers.rows.entries()) {
    placeBends(gaps[rank]!, skyline, mostBend);
    for (const vertex of row) placeVertex(vertex, layers, skyline, labelled, top);
  }
  placeBends(gaps.at(-1)!, skyline, mostBend);
  const height = skyline.highest() + padding;
  for (const vertex of layers.vertices) if (vertex.kind === "out") vertex.y = height;
  sinkLow(layers, gaps, height, labelled);
  return height;
}

/** The bends in the gap above each row, and at last in the one below them all. */
function findBends(layers: Layers): Bend[][] {
  const gaps: Bend[][] = [...layers.rows.map(() => []), []];
  for (const piece of layers.pieces) {
    const [fromX, toX] = [piece.upper.x + upperOffset(piece), piece.lower.x + lowerOffset(piece)];
    if (Math.abs(fromX - toX) < 0.75) continue;
    piece.bend = { fromX, toX, top: 0, bottom: 0 };
    gaps[piece.lower.rank]!.push(piece.bend);
  }
  for (const run of layers.runs) {
    const [first, last] = [run.column.at(0), run.column.at(-1)];
    if (first === undefined || last === undefined) continue;
    const { from, to, leaves, reaches } = run.line;
    if (!isCorner(run)) {
      run.turnBelow = { fromX: from.x + leaves, toX: last.x + last.center, top: 0, bottom: 0 };
      gaps[from.rank + 1]!.push(run.turnBelow);
    }
    run.turnAbove = { fromX: first.x + first.center, toX: to.x + (reaches ?? to.center), top: 0, bottom: 0 };
    gaps[to.rank]!.push(run.turnAbove);
  }
  return gaps;
}

/** What a box gives itself goes round its upper right corner, where the column beside it is at the right. */
export function isCorner({ line, column }: Run): boolean {
  const { from, to } = line;
  return from === to && from.kind === "box" && column[0] !== undefined && column[0].x >= from.x + from.width;
}

/** Boxes that belong to a reader far down come down to it, as far as nothing stands in their way. */
function sinkLow(layers: Layers, gaps: readonly Bend[][], height: number, labelled: ReadonlySet<Vertex>): void {
  // Upside down, the ground is what stands lowest.
  const ground = new Skyline(-height);
  for (const bend of gaps.at(-1)!) raiseTo(ground, bend);
  for (let rank = layers.rows.length - 1; rank > 0; rank -= 1) {
    const row = layers.rows[rank]!.filter((vertex) => vertex.kind !== "bend" && vertex.kind !== "out");
    for (const vertex of row) {
      const right = vertex.x + vertex.width;
      const gap = labelled.has(vertex) ? LABEL_GAP : BOX_GAP;
      const lowest = -ground.over(vertex.x, right) - gap - vertex.height;
      if (vertex.isLow && lowest > vertex.y) vertex.y = lowest;
      ground.raise(vertex.x, right, -vertex.y);
    }
    for (const bend of gaps[rank]!) raiseTo(ground, bend);
  }
}

function raiseTo(ground: Skyline, { fromX, toX, top }: Bend): void {
  const [left, right] = [Math.min(fromX, toX) - 2, Math.max(fromX, toX) + 2];
  ground.raise(left, right, Math.max(-top - BOX_GAP + 4, ground.over(left, right)));
}

/** Bends that overlap from left to right share one band. */
function placeBends(bends: readonly Bend[], skyline: Skyline, mostBend: number): void {
  const sorted = [...bends].sort((a, b) => Math.min(a.fromX, a.toX) - Math.min(b.fromX, b.toX));
  let start = 0;
  while (start < sorted.length) {
    const left = Math.min(sorted[start]!.fromX, sorted[start]!.toX);
    let [right, widest, end] = [-Infinity, 0, start];
    while (end < sorted.length && (end === start || Math.min(sorted[end]!.fromX, sorted[end]!.toX) <= right + 4)) {
      const { fromX, toX } = sorted[end]!;
      right = Math.max(right, fromX, toX);
      widest = Math.max(widest, Math.abs(fromX - toX));
      end += 1;
    }
    const top = skyline.over(left - 2, right + 2) + 4;
    const bottom = top + Math.min(mostBend, Math.max(18, widest * 0.24));
    for (const bend of sorted.slice(start, end)) [bend.top, bend.bottom] = [top, bottom];
    skyline.raise(left - 2, right + 2, bottom + ARROW - BOX_GAP);
    start = end;
  }
}

function placeVertex(
  vertex: Vertex,
  layers: Layers,
  skyline: Skyline,
  labelled: ReadonlySet<Vertex>,
  top: number,
): void {
  // In-ports stand at the top, out-ports at the bottom, which is not known yet.
  if (vertex.kind === "bend" || vertex.kind === "out" || vertex.kind === "in") return;
  const right = vertex.x + vertex.width;
  const ground = skyline.over(vertex.x, right);
  let y = ground + (ground === top ? 4 : BOX_GAP);
  for (const piece of layers.above.get(vertex) ?? []) {
    if (!labelled.has(piece.upper) || piece.upper.kind === "bend") continue;
    y = Math.max(y, piece.upper.y + piece.upper.height + LABEL_GAP);
  }
  vertex.y = y;
  skyline.raise(vertex.x, right, y + vertex.height);
}

/** How far down the drawing is taken, by x: sorted stretches that touch each other. */
class Skyline {
  private starts: number[] = [-Infinity];
  private bottoms: number[];

  constructor(top: number) {
    this.bottoms = [top];
  }

  over(left: number, right: number): number {
    let lowest = -Infinity;
    for (let at = this.find(left); at < this.starts.length && this.starts[at]! < right; at += 1) {
      lowest = Math.max(lowest, this.bottoms[at]!);
    }
    return lowest;
  }

  raise(left: number, right: number, bottom: number): void {
    const first = this.find(left);
    const last = this.find(right);
    const [leftBottom, rightBottom] = [this.bottoms[first]!, this.bottoms[last]!];
    const starts = [left, right];
    const bottoms = [bottom, rightBottom];
    if (this.starts[first]! < left) {
      starts.unshift(this.starts[first]!);
      bottoms.unshift(leftBottom);
    }
    this.starts.splice(first, last - first + 1, ...starts);
    this.bottoms.splice(first, last - first + 1, ...bottoms);
  }

  highest(): number {
    return this.bottoms.reduce((most, bottom) => Math.max(most, bottom), -Infinity);
  }

  private find(x: number): number {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle]! <= x) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
