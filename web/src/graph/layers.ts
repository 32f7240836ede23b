/** A group's boxes in layers, with every long line cut into pieces that go from one layer to the next. */

export type VertexKind = "box" | "open" | "chip" | "in" | "out" | "bend";

/** Something that takes up room in a layer: a box, a port, a chip, or a line passing by. */
export interface Vertex {
  index: number;
  readonly kind: VertexKind;
  readonly child: number;
  readonly source: number;
  readonly order: number;
  /** How many ops it stands for: the main line is the heaviest way through. */
  readonly weight: number;
  readonly isPinned: boolean;
  /** Of a chip: the nodes that it names, and whether they are read here or read this. */
  readonly keys: string[];
  readonly names: "sources" | "readers";
  width: number;
  readonly height: number;
  /** Where lines meet it, from its left. */
  center: number;
  /** How many lines left it before far readers were given chips. */
  fan: number;
  /** Came down to be near its reader. */
  isLow: boolean;
  rank: number;
  x: number;
  y: number;
}

/** A wire with its ends. `reaches` is null until the places on the top of its box have been given out. */
export interface Line {
  from: Vertex;
  to: Vertex;
  readonly sources: readonly number[];
  readonly edges: readonly number[];
  readonly isBack: boolean;
  leaves: number;
  reaches: number | null;
  wantsLabel: boolean;
}

/** A piece of a line between neighbouring layers. Lines of one source share pieces while they run together. */
export interface Piece {
  readonly upper: Vertex;
  readonly lower: Vertex;
  readonly line: Line;
  isMain: boolean;
}

/** A line with the pieces that it runs along; for one that runs back, the column beside the boxes it goes up in. */
export interface Run {
  readonly line: Line;
  readonly pieces: readonly Piece[];
  readonly column: readonly Vertex[];
}

export interface Layers {
  readonly vertices: readonly Vertex[];
  /** The vertices of each rank, from left to right. */
  readonly rows: Vertex[][];
  readonly pieces: readonly Piece[];
  readonly runs: readonly Run[];
  readonly above: ReadonlyMap<Vertex, readonly Piece[]>;
  readonly below: ReadonlyMap<Vertex, readonly Piece[]>;
}

const BEND_WIDTH = 10;

export function makeLayers(boxes: readonly Vertex[], lines: readonly Line[]): Layers {
  const vertices = [...boxes];
  const pieces: Piece[] = [];
  const runs: Run[] = [];
  const known = new Map<string, Piece>();
  const bends = new Map<string, Vertex>();
  const bend = (name: string, line: Line, rank: number): Vertex => {
    let vertex = bends.get(name);
    if (vertex === undefined) {
      vertex = {
        index: vertices.length, kind: "bend", child: -1, source: -1, order: line.from.order, weight: 0,
        isPinned: false, keys: [], names: "sources", width: BEND_WIDTH, height: 0, center: BEND_WIDTH / 2, fan: 0, isLow: false, rank, x: 0, y: 0,
      };
      vertices.push(vertex);
      bends.set(name, vertex);
    }
    return vertex;
  };
  const piece = (upper: Vertex, lower: Vertex, line: Line): Piece => {
    // A piece that touches an open box belongs to one port.
    const name = `${upper.index} ${upper.kind === "bend" ? "" : line.leaves} ${lower.index} ${line.reaches ?? ""}`;
    let found = known.get(name);
    if (found === undefined) {
      found = { upper, lower, line, isMain: false };
      known.set(name, found);
      pieces.push(found);
    }
    return found;
  };
  for (const [index, line] of lines.entries()) {
    if (line.isBack) {
      const column: Vertex[] = [];
      for (let rank = line.to.rank; rank <= line.from.rank; rank += 1) {
        column.push(bend(`back ${index} ${rank}`, line, rank));
      }
      const way = column.slice(1).map((lower, at) => piece(column[at]!, lower, line));
      runs.push({ line, pieces: way, column });
      continue;
    }
    const way: Piece[] = [];
    let upper = line.from;
    for (let rank = line.from.rank + 1; rank < line.to.rank; rank += 1) {
      const lower = bend(`${line.from.index} ${line.leaves} ${rank}`, line, rank);
      way.push(piece(upper, lower, line));
      upper = lower;
    }
    way.push(piece(upper, line.to, line));
    runs.push({ line, pieces: way, column: [] });
  }
  markMainLine(runs, vertices);
  return { vertices, pieces, runs, rows: [], above: byEnd(pieces, "lower"), below: byEnd(pieces, "upper") };
}

function byEnd(pieces: readonly Piece[], end: "upper" | "lower"): Map<Vertex, Piece[]> {
  const found = new Map<Vertex, Piece[]>();
  for (const piece of pieces) {
    const list = found.get(piece[end]);
    if (list === undefined) found.set(piece[end], [piece]);
    else list.push(piece);
  }
  return found;
}

/** A run is on the main line where it is the heaviest way onward from its start and the heaviest way to its end. */
function markMainLine(runs: readonly Run[], vertices: readonly Vertex[]): void {
  const forward = runs.filter((run) => !run.line.isBack);
  const before = heaviest(forward, vertices, "from", "to");
  const after = heaviest(forward, vertices, "to", "from");
  for (const run of forward) {
    const { from, to } = run.line;
    if (before.best.get(to) === run && after.best.get(from) === run) for (const piece of run.pieces) piece.isMain = true;
  }
}

function heaviest(
  runs: readonly Run[],
  vertices: readonly Vertex[],
  near: "from" | "to",
  far: "from" | "to",
): { best: Map<Vertex, Run> } {
  const weight = new Float64Array(vertices.length);
  const best = new Map<Vertex, Run>();
  const direction = near === "from" ? 1 : -1;
  const inOrder = [...runs].sort((a, b) => direction * (a.line[near].rank - b.line[near].rank));
  // Of two ways of the same weight, the one of more boxes: both directions must choose the same.
  const total = (vertex: Vertex): number => (weight[vertex.index] ?? 0) + vertex.weight + 1e-3;
  for (const run of inOrder) {
    const [start, end] = [run.line[near], run.line[far]];
    const offered = total(start);
    if (!best.has(end) || offered > weight[end.index]!) {
      weight[end.index] = offered;
      best.set(end, run);
    }
  }
  return { best };
}
