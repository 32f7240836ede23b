/** A group's boxes in layers, with every long line cut into pieces that go from one layer to the next. */

export type VertexKind = "box" | "open" | "chip" | "in" | "out" | "bend";

/** Something that takes up room in a layer: a box, a port, a chip, or a line passing by. */
export interface Vertex {
  index: number;
  readonly kind: VertexKind;
  readonly child: number;
  readonly source: number;
  readonly order: number;
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
  /** How many ops lie on the longest way from the model's inputs to here, and from here to its outputs. */
  readonly stepsBefore: number;
  readonly stepsAfter: number;
  leaves: number;
  reaches: number | null;
  wantsLabel: boolean;
  /** It carries no tensor: a value decided that its end ran. */
  readonly isCondition: boolean;
  /** Which argument of its reader it is, and how far to the right it belongs for that, from 0 to 1. */
  readonly slot: number;
  share: number | null;
  /** How wide the words at its head are. */
  readonly words: number;
  wordSide: "left" | "right";
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
        index: vertices.length, kind: "bend", child: -1, source: -1, order: line.from.order,
        isPinned: false, keys: [], names: "sources", width: BEND_WIDTH, height: 0, center: BEND_WIDTH / 2, fan: 0, isLow: false, rank, x: 0, y: 0,
      };
      vertices.push(vertex);
      bends.set(name, vertex);
    }
    return vertex;
  };
  const piece = (upper: Vertex, lower: Vertex, line: Line): Piece => {
    // A piece that touches an open box belongs to one port.
    const ends = `${upper.kind === "bend" ? "" : line.leaves} ${lower.index} ${line.reaches ?? ""}`;
    const name = `${upper.index} ${ends} ${line.isCondition ? "?" : ""}`;
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
      const lower = bend(`${line.from.index} ${line.leaves} ${rank}${line.isCondition ? "?" : ""}`, line, rank);
      way.push(piece(upper, lower, line));
      upper = lower;
    }
    way.push(piece(upper, line.to, line));
    runs.push({ line, pieces: way, column: [] });
  }
  markMainLine(runs);
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

/** A run is on the main line where it is the longest way onward from its start and the longest way to its end. */
function markMainLine(runs: readonly Run[]): void {
  const forward = runs.filter(({ line }) => !line.isBack);
  const onward = longestAt(forward, (line) => line.from, (line) => line.stepsAfter);
  const before = longestAt(forward, (line) => line.to, (line) => line.stepsBefore);
  for (const run of onward.values()) {
    if (before.get(run.line.to) === run) for (const piece of run.pieces) piece.isMain = true;
  }
}

function longestAt(runs: readonly Run[], end: (line: Line) => Vertex, steps: (line: Line) => number): Map<Vertex, Run> {
  const found = new Map<Vertex, Run>();
  for (const run of runs) {
    const known = found.get(end(run.line));
    if (known === undefined || steps(run.line) > steps(known.line)) found.set(end(run.line), run);
  }
  return found;
}
