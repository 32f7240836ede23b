/** Turn lines with their bends into paths to draw. */
import type { Bend, Layers, Line, Run, Vertex } from "./layers";
import type { LabelPlace, PlacedWire } from "./layout-graph";
import { isCorner } from "./rows";

export function traceWires(layers: Layers, height: number): PlacedWire[] {
  const labels = new Labels(layers);
  // The main line is labelled rather than a side line of the same source.
  const runs = [...layers.runs].sort((a, b) => Number(isMain(b)) - Number(isMain(a)));
  return runs.map((run) => {
    const { line } = run;
    const path = line.isBack ? backPath(run) : forwardPath(run, height);
    return {
      path,
      edges: line.edges,
      isCondition: line.isCondition,
      hasTail: isClosed(line.from),
      hasHead: isClosed(line.to),
      label: line.wantsLabel && !line.isBack ? labels.place(startX(line), startY(line)) : null,
      words: wordsPlace(run, path),
    };
  });
}

function wordsPlace({ line, turnAbove }: Run, path: readonly number[]): LabelPlace | null {
  if (line.to.kind !== "box") return null;
  if (turnAbove !== null) return { x: turnAbove.fromX, y: turnAbove.bottom + 6, side: "right" };
  return { x: path.at(-2)!, y: path.at(-1)! - 7, side: line.wordSide };
}

function startX(line: Line): number {
  return line.from.x + line.leaves;
}

function startY(line: Line): number {
  return line.from.y + bodyBottom(line.from);
}

/** How much room a label is given beside the start of its line. */
const LABEL = { from: 4, to: 80, top: 4, bottom: 20 } as const;

/** Finds room for labels: none over another, and as few lines as can be through them. */
class Labels {
  private readonly bands: readonly Bend[];
  private readonly starts: readonly { readonly x: number; readonly y: number }[];
  private readonly taken: { readonly left: number; readonly right: number; readonly y: number }[] = [];
  private readonly labelled = new Set<string>();

  constructor({ pieces, runs }: Layers) {
    const turns = runs.flatMap(({ turnAbove, turnBelow }) => [turnAbove, turnBelow]);
    this.bands = [...pieces.map(({ bend }) => bend), ...turns].filter((bend) => bend !== null);
    this.starts = runs.map(({ line }) => ({ x: startX(line), y: startY(line) }));
  }

  /** One for each place where lines start; null where there is no room on either side. */
  place(x: number, y: number): PlacedWire["label"] {
    const name = `${x} ${y}`;
    if (this.labelled.has(name)) return null;
    this.labelled.add(name);
    const [right, left] = [this.cost(x + LABEL.from, x + LABEL.to, y), this.cost(x - LABEL.to, x - LABEL.from, y)];
    if (Math.min(left, right) === Infinity) return null;
    const isRight = right <= left;
    this.taken.push(isRight ? { left: x, right: x + LABEL.to, y } : { left: x - LABEL.to, right: x, y });
    return { x, y, side: isRight ? "right" : "left" };
  }

  private cost(left: number, right: number, y: number): number {
    const isNear = (other: number): boolean => Math.abs(other - y) < LABEL.bottom;
    if (this.taken.some((label) => isNear(label.y) && label.left < right && label.right > left)) return Infinity;
    let count = 0;
    for (const { fromX, toX, top, bottom } of this.bands) {
      const isBeside = Math.max(fromX, toX) < left || Math.min(fromX, toX) > right;
      if (!isBeside && top < y + LABEL.bottom && bottom > y + LABEL.top) count += 1;
    }
    for (const start of this.starts) if (isNear(start.y) && start.x > left && start.x < right) count += 1;
    return count;
  }
}

function isMain(run: Run): boolean {
  return run.pieces.some((piece) => piece.isMain);
}

function isClosed(vertex: Vertex): boolean {
  return vertex.kind === "box" || vertex.kind === "chip";
}

function bodyTop({ height, bodyHeight }: Vertex): number {
  return (height - bodyHeight) / 2;
}

function bodyBottom({ height, bodyHeight }: Vertex): number {
  return (height + bodyHeight) / 2;
}

function forwardPath(run: Run, height: number): number[] {
  const { from, to, leaves, reaches } = run.line;
  const path = [from.x + leaves, from.y + bodyBottom(from)];
  for (const piece of run.pieces) {
    if (piece.bend !== null) addBend(path, piece.bend);
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
function backPath(run: Run): number[] {
  const { from, to, leaves, reaches } = run.line;
  const [above, below] = [run.turnAbove!, run.turnBelow];
  const path = isCorner(run) ? cornerStart(from, above.fromX) : [from.x + leaves, from.y + bodyBottom(from)];
  if (below !== null) {
    path.push(0, below.fromX, below.top, 1, below.fromX, below.bottom, below.toX, below.bottom, below.toX, below.top);
  }
  for (const { bend } of run.pieces.toReversed()) {
    if (bend === null) continue;
    const middle = (bend.top + bend.bottom) / 2;
    path.push(0, bend.toX, bend.bottom, 1, bend.toX, middle, bend.fromX, middle, bend.fromX, bend.top);
  }
  path.push(0, above.fromX, above.bottom, 1, above.fromX, above.top, above.toX, above.top, above.toX, above.bottom);
  path.push(0, to.x + (reaches ?? to.center), to.y + bodyTop(to));
  return path;
}

/** Out of the right side of the box and up into the column beside it: such a line crosses nothing. */
function cornerStart(from: Vertex, columnX: number): number[] {
  const middle = from.y + (bodyTop(from) + bodyBottom(from)) / 2;
  return [from.x + from.width, middle + 6, 1, columnX, middle + 6, columnX, middle + 6, columnX, middle - 6];
}
