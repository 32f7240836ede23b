/** Turn lines with their bends into paths to draw. */
import type { PlacedWire } from "./layoutgraph";
import type { Layers, Run, Vertex } from "./layers";
import type { Bend, Bends } from "./rows";

export function traceWires(layers: Layers, bends: Bends, height: number): PlacedWire[] {
  const labelled = new Set<string>();
  const bands = [...bends.ofPiece.values(), ...bends.turnAbove.values(), ...bends.turnBelow.values()];
  // The main line is labelled rather than a side line of the same source.
  const runs = [...layers.runs].sort((a, b) => Number(isMain(b)) - Number(isMain(a)));
  return runs.map((run) => {
    const { line } = run;
    const start = startName(run);
    const hasLabel = line.wantsLabel && !labelled.has(start) && !line.isBack;
    if (hasLabel) labelled.add(start);
    const x = line.from.x + line.leaves;
    const y = line.from.y + bodyBottom(line.from);
    const side = hasLabel ? freerSide(bands, x, y) : "right";
    return {
      path: line.isBack ? backPath(run, bends) : forwardPath(run, bends, height),
      edges: line.edges,
      hasTail: isClosed(line.from),
      hasHead: isClosed(line.to),
      label: hasLabel ? { x, y, side } : null,
    };
  });
}

function isMain(run: Run): boolean {
  return run.pieces.some((piece) => piece.isMain);
}

function startName(run: Run): string {
  return `${run.line.from.index} ${run.line.leaves}`;
}

function isClosed(vertex: Vertex): boolean {
  return vertex.kind === "box" || vertex.kind === "chip";
}

/** Where the box of a vertex begins and ends: rows of chips can be taller than the box that they stand beside. */
const BODY = 34;

function bodyTop(vertex: Vertex): number {
  return vertex.kind === "box" ? (vertex.height - BODY) / 2 : 0;
}

function bodyBottom(vertex: Vertex): number {
  return vertex.kind === "box" ? (vertex.height + BODY) / 2 : vertex.height;
}

/** Where fewer lines run through the label. */
function freerSide(bands: readonly Bend[], x: number, y: number): "left" | "right" {
  const hits = (left: number, right: number): number => {
    let count = 0;
    for (const { fromX, toX, top, bottom } of bands) {
      const isBeside = Math.max(fromX, toX) < left || Math.min(fromX, toX) > right;
      if (!isBeside && top < y + 20 && bottom > y + 4) count += 1;
    }
    return count;
  };
  return hits(x + 4, x + 80) <= hits(x - 80, x - 4) ? "right" : "left";
}

function forwardPath(run: Run, bends: Bends, height: number): number[] {
  const { from, to, leaves, reaches } = run.line;
  const path = [from.x + leaves, from.y + bodyBottom(from)];
  for (const piece of run.pieces) {
    const bend = bends.ofPiece.get(piece);
    if (bend !== undefined) addBend(path, bend);
  }
  const endY = to.kind === "out" ? height : to.y + bodyTop(to);
  path.push(0, to.x + (reaches ?? to.center), endY);
  return path;
}

/** Down, sideways with upright ends, and on. */
function addBend(path: number[], { fromX, toX, top, bottom }: Bend): void {
  const middle = (top + bottom) / 2;
  const lean = (bottom - top) / 8;
  path.push(0, fromX, top, 1, fromX, middle + lean, toX, middle - lean, toX, bottom);
}

/** Down and round into the column beside, up, and round again to come down on the box. */
function backPath(run: Run, bends: Bends): number[] {
  const { from, to, leaves, reaches } = run.line;
  const path = [from.x + leaves, from.y + bodyBottom(from)];
  const [below, above] = [bends.turnBelow.get(run)!, bends.turnAbove.get(run)!];
  path.push(0, below.fromX, below.top, 1, below.fromX, below.bottom, below.toX, below.bottom, below.toX, below.top);
  for (const piece of run.pieces.toReversed()) {
    const bend = bends.ofPiece.get(piece);
    if (bend === undefined) continue;
    const middle = (bend.top + bend.bottom) / 2;
    path.push(0, bend.toX, bend.bottom, 1, bend.toX, middle, bend.fromX, middle, bend.fromX, bend.top);
  }
  path.push(0, above.fromX, above.bottom, 1, above.fromX, above.top, above.toX, above.top, above.toX, above.bottom);
  path.push(0, to.x + (reaches ?? to.center), to.y + bodyTop(to));
  return path;
}
