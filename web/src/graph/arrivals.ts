/** Where lines meet the top of their box: side by side, with room for the words at their heads. */
import type { Layers, Line, Vertex } from "./layers";

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
  for (const arriving of linesByEnd(lines).values()) {
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
    append(found, line.to, arrival);
  }
  return found;
}

/** Between 0 and 1, from left to right, where a line leaves. */
function offsetShare(upper: Vertex, line: Line): number {
  return upper.kind === "bend" ? 0.5 : line.leaves / (1 + upper.width);
}

function append<Item>(lists: Map<Vertex, Item[]>, vertex: Vertex, item: Item): void {
  const list = lists.get(vertex);
  if (list === undefined) lists.set(vertex, [item]);
  else list.push(item);
}

function linesByEnd(lines: readonly Line[]): Map<Vertex, Line[]> {
  const found = new Map<Vertex, Line[]>();
  for (const line of lines) {
    if (line.to.kind === "box") append(found, line.to, line);
  }
  return found;
}
