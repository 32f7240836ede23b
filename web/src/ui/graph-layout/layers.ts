/** A group's boxes in layers, with every long line cut into pieces that go from one layer to the next. */
import { groupBy, obtain } from "../../data/collections";

/** Something that takes up room in a layer: a box, a port, a chip, or a line passing by. Classes, since spreading is slow. */
export class Vertex {
  index = 0;
  readonly kind!: "box" | "open" | "chip" | "in" | "out" | "bend";
  readonly child: number = -1;
  readonly source: number = -1;
  readonly order!: number;
  readonly isPinned: boolean = false;
  /** Of a chip: the nodes that it names, and whether they are read here or read this. */
  readonly keys: string[] = [];
  readonly names: "sources" | "readers" = "sources";
  width = 0;
  readonly height: number = 0;
  /** Of its box: rows of chips can be taller than the box that they stand beside. */
  readonly bodyHeight!: number;
  /** Where lines meet it, from its left. */
  center = 0;
  /** How many lines left it before far readers were given chips. */
  fan = 0;
  /** Came down to be near its reader. */
  isLow = false;
  rank = 0;
  x = 0;
  y = 0;

  constructor(given: Pick<Vertex, "kind" | "order"> & Partial<Vertex>) {
    this.bodyHeight = given.height ?? 0;
    Object.assign(this, given);
  }
}

/** A wire with its ends. `reaches` is null until the places on the top of its box have been given out. */
export class Line {
  from!: Vertex;
  to!: Vertex;
  readonly sources!: number[];
  readonly edges!: number[];
  readonly isBack: boolean = false;
  /** How many ops lie on the longest way from the model's inputs to here, and from here to its outputs. */
  stepsBefore = 0;
  stepsAfter = 0;
  leaves!: number;
  reaches: number | null = null;
  wantsLabel = false;
  /** It carries no tensor: a value decided that its end ran. */
  readonly isCondition: boolean = false;
  /** Which argument of its reader it is, and how far to the right it belongs for that, from 0 to 1. */
  slot = -1;
  share: number | null = null;
  words = 0;
  /** Lines between the same ends in other lanes run beside each other. */
  readonly lane: number = 0;
  wordSide: "left" | "right" = "right";

  constructor(given: Pick<Line, "from" | "to" | "sources" | "edges" | "leaves"> & Partial<Line>) {
    Object.assign(this, given);
  }
}

/** A piece of a line between neighbouring layers. Lines of one source share pieces while they run together. */
export interface Piece {
  readonly upper: Vertex;
  readonly lower: Vertex;
  readonly line: Line;
  isMain: boolean;
  /** Where it moves sideways; null where it is straight. */
  bend: Bend | null;
}

/** The band in which a line moves sideways: between `top` and `bottom` nothing else stands in its way. */
export interface Bend {
  readonly fromX: number;
  readonly toX: number;
  top: number;
  bottom: number;
}

/** Where a piece meets its upper and its lower vertex, from their lefts. */
export function upperOffset({ upper, line }: Piece): number {
  return upper.kind === "bend" ? upper.center : line.leaves;
}

export function lowerOffset({ lower, line }: Piece): number {
  return lower.kind === "bend" ? lower.center : (line.reaches ?? lower.center);
}

/** A line with the pieces that it runs along; for one that runs back, the column beside the boxes it goes up in. */
export interface Run {
  readonly line: Line;
  readonly pieces: readonly Piece[];
  readonly column: readonly Vertex[];
  /** Of one that runs back: in the gap below its start, and in the gap above its end. */
  turnBelow: Bend | null;
  turnAbove: Bend | null;
}

export interface Layers {
  readonly vertices: readonly Vertex[];
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
    return obtain(bends, name, () => {
      const vertex = new Vertex({ index: vertices.length, kind: "bend", order: line.from.order, width: BEND_WIDTH, center: BEND_WIDTH / 2, rank });
      vertices.push(vertex);
      return vertex;
    });
  };
  const piece = (upper: Vertex, lower: Vertex, line: Line): Piece => {
    // A piece that touches an open box belongs to one port.
    const ends = `${upper.kind === "bend" ? "" : line.leaves} ${lower.index} ${line.reaches ?? ""}`;
    const name = `${upper.index} ${ends} ${laneOf(line)}`;
    return obtain(known, name, () => {
      const found = { upper, lower, line, isMain: false, bend: null };
      pieces.push(found);
      return found;
    });
  };
  for (const [index, line] of lines.entries()) {
    if (line.isBack) {
      const column: Vertex[] = [];
      for (let rank = line.to.rank; rank <= line.from.rank; rank += 1) {
        column.push(bend(`back ${index} ${rank}`, line, rank));
      }
      const way = column.slice(1).map((lower, at) => piece(column[at]!, lower, line));
      runs.push({ line, pieces: way, column, turnBelow: null, turnAbove: null });
      continue;
    }
    const way: Piece[] = [];
    let upper = line.from;
    for (let rank = line.from.rank + 1; rank < line.to.rank; rank += 1) {
      const lower = bend(`${line.from.index} ${line.leaves} ${rank} ${laneOf(line)}`, line, rank);
      way.push(piece(upper, lower, line));
      upper = lower;
    }
    way.push(piece(upper, line.to, line));
    runs.push({ line, pieces: way, column: [], turnBelow: null, turnAbove: null });
  }
  markMainLine(runs);
  return { vertices, pieces, runs, rows: [], above: groupBy(pieces, ({ lower }) => lower), below: groupBy(pieces, ({ upper }) => upper) };
}

function laneOf({ isCondition, lane }: Line): string {
  return isCondition ? "?" : String(lane);
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

// --- Where lines meet the top of their box: side by side, with room for the words at their heads.

const GAP = 12;

/** Words wider than this, or all where room is short, stand at the left of the first head: no other line is there. */
const NARROW = 24;

/** A long list of words at a head gets no more room than this. */
const MOST_ROOM = 90;

/** One place on the top of a box: lines that share their last piece share it. */
interface Arrival {
  readonly lines: Line[];
  readonly place: number;
  readonly isMain: boolean;
}

/** Sets `share` of the lines that arrive as one of several arguments: their order from left to right. */
export function orderArguments(lines: readonly Line[]): void {
  const toBoxes = lines.filter(({ to }) => to.kind === "box");
  for (const arriving of groupBy(toBoxes, ({ to }) => to).values()) {
    const slots = [...new Set(arriving.map((line) => line.slot))].filter((slot) => slot >= 0).sort((a, b) => a - b);
    if (slots.length < 2) continue;
    for (const line of arriving) if (line.slot >= 0) line.share = (slots.indexOf(line.slot) + 0.5) / slots.length;
  }
}

/** Sets `reaches` of every line to a closed box: the main one in the middle, arguments in their order. */
export function spreadArrivals(layers: Layers, place: Float64Array): void {
  for (const [vertex, arrivals] of arrivalsByEnd(layers, place)) {
    arrivals.sort((a, b) => sortKey(a) - sortKey(b) || a.place - b.place);
    const main = Math.max(0, arrivals.findIndex((arrival) => arrival.isMain));
    const offsets = [0];
    const most = (vertex.width - vertex.center) * 0.95;
    const total = arrivals.reduce((sum, arrival) => sum + GAP + roomOf(arrival), 0);
    const isLeft = arrivals.length > 1 && (total > most || roomOf(arrivals[0]!) > NARROW);
    if (isLeft) for (const line of arrivals[0]!.lines) line.wordSide = "left";
    for (const arrival of arrivals.slice(0, -1)) offsets.push(offsets.at(-1)! + GAP + roomOf(arrival));
    const before = offsets[main]!;
    const after = offsets.at(-1)! - before;
    const factor = Math.min(1, most / Math.max(1, before, after));
    for (const [index, { lines }] of arrivals.entries()) {
      for (const line of lines) line.reaches = vertex.center + (offsets[index]! - before) * factor;
    }
  }
}

/** At the right of its head; what comes back from below has its words beside its way up. */
function roomOf({ lines }: Arrival): number {
  if (lines[0]!.isBack || lines[0]!.wordSide === "left") return 0;
  return Math.min(MOST_ROOM, lines.reduce((most, line) => Math.max(most, line.words), 0));
}

/** Arguments in their order, then what comes back from below, then what only decides. */
function sortKey({ lines: [line] }: Arrival): number {
  if (line!.isCondition) return 3;
  if (line!.isBack) return 2;
  return line!.share ?? 0;
}

function arrivalsByEnd(layers: Layers, place: Float64Array): Map<Vertex, Arrival[]> {
  const found = new Map<Vertex, Arrival[]>();
  const known = new Map<unknown, Arrival>();
  for (const run of layers.runs) {
    const { line } = run;
    if (line.to.kind === "open" || line.to.kind === "bend") continue;
    const last = line.isBack ? undefined : run.pieces.at(-1);
    const shared = known.get(last ?? line);
    if (shared !== undefined) {
      shared.lines.push(line);
      continue;
    }
    const upper = last?.upper ?? run.column[0]!;
    const arrival = { lines: [line], place: place[upper.index]! + offsetShare(upper, line), isMain: last?.isMain ?? false };
    known.set(last ?? line, arrival);
    obtain(found, line.to, () => []).push(arrival);
  }
  return found;
}

/** Between 0 and 1, from left to right, where a line leaves. */
function offsetShare(upper: Vertex, line: Line): number {
  return upper.kind === "bend" ? 0.5 : line.leaves / (1 + upper.width);
}
