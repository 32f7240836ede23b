/** Say which layer each box of a group stands in. */
import type { Line, Vertex } from "./layers";

/** From this many readers on, a line that runs past many layers is there anyway. */
const WIDE_FAN = 6;

/** More boxes than this that nobody reads do not stand in one layer. */
const MOST_ENDS = 8;

/**
 * Layers by the longest way from the top; in-ports have rank 0, out-ports the last. Boxes that could stand lower
 * come down where that makes lines shorter: constants to just above their reader, steps of a loop to their step.
 */
export function findRanks(vertices: readonly Vertex[], lines: readonly Line[]): void {
  const links = new Links(lines);
  // Forward lines go from a lower to a higher order, so that one pass is enough.
  const inOrder = [...vertices].sort((a, b) => a.order - b.order);
  for (const vertex of vertices) vertex.fan = Math.max(vertex.fan, links.leaving(vertex).length);
  const last = rankFromTop(inOrder, links);
  const isFloating = floating(inOrder, links);
  for (const vertex of inOrder.toReversed()) {
    if (vertex.kind === "out") vertex.rank = last + 1;
    // The one chip before a port is for what leaves the group, and stands at its end.
    const readers = links.leaving(vertex).filter((line) => line.to.kind !== "out" || vertex.kind === "chip");
    if (vertex.isPinned || readers.length === 0) continue;
    const lowest = Math.min(...readers.map((line) => line.to.rank)) - 1;
    if (lowest <= vertex.rank) continue;
    if (!isFloating.has(vertex) && !isCheaper(vertex, lowest, links)) continue;
    vertex.rank = lowest;
    vertex.isLow = true;
  }
  spreadEnds(inOrder, links, last);
}

class Links {
  private readonly from = new Map<Vertex, Line[]>();
  private readonly to = new Map<Vertex, Line[]>();

  constructor(lines: readonly Line[]) {
    for (const line of lines) {
      if (line.isBack) continue;
      put(this.from, line.from, line);
      put(this.to, line.to, line);
    }
  }

  leaving(vertex: Vertex): readonly Line[] {
    return this.from.get(vertex) ?? [];
  }

  reaching(vertex: Vertex): readonly Line[] {
    return this.to.get(vertex) ?? [];
  }
}

function put(lists: Map<Vertex, Line[]>, key: Vertex, line: Line): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [line]);
  else list.push(line);
}

function rankFromTop(inOrder: readonly Vertex[], links: Links): number {
  let last = 0;
  for (const vertex of inOrder) {
    vertex.rank = vertex.kind === "in" ? 0 : 1;
    for (const line of links.reaching(vertex)) vertex.rank = Math.max(vertex.rank, line.from.rank + 1);
    if (vertex.kind !== "out") last = Math.max(last, vertex.rank);
  }
  return last;
}

/** What depends on no input and no port: constants, chips, and what is made from them alone. */
function floating(inOrder: readonly Vertex[], links: Links): Set<Vertex> {
  const found = new Set<Vertex>();
  for (const vertex of inOrder) {
    if (!vertex.isPinned && links.reaching(vertex).every((line) => found.has(line.from))) found.add(vertex);
  }
  return found;
}

/** Whether lines become shorter in all when a box comes down. Lines of one source run together and count once. */
function isCheaper(vertex: Vertex, rank: number, links: Links): boolean {
  const sources = new Set(links.reaching(vertex).map((line) => line.from));
  let longer = 0;
  for (const source of sources) {
    const others = links.leaving(source).filter((line) => line.to !== vertex);
    const reach = Math.max(vertex.rank, ...others.map((line) => line.to.rank));
    if (reach < rank) longer += 1;
  }
  const shorter = new Set(links.leaving(vertex).map((line) => line.leaves)).size;
  return longer < shorter || (longer === shorter && fanAbove(vertex, links) >= WIDE_FAN);
}

/** How many readers the value has that a chain of boxes begins with. */
function fanAbove(vertex: Vertex, links: Links): number {
  let at = vertex;
  for (;;) {
    const [line, second] = links.reaching(at);
    if (line === undefined || second !== undefined) return 0;
    if (line.from.fan > 1) return line.from.fan;
    at = line.from;
  }
}

/** Long rows of boxes that nobody reads are broken into several. */
function spreadEnds(inOrder: readonly Vertex[], links: Links, last: number): void {
  const numEnds = new Map<number, number>();
  let lowest = last;
  for (const vertex of inOrder) {
    if (vertex.child < 0 || links.leaving(vertex).length > 0) continue;
    while ((numEnds.get(vertex.rank) ?? 0) >= MOST_ENDS) vertex.rank += 1;
    numEnds.set(vertex.rank, (numEnds.get(vertex.rank) ?? 0) + 1);
    lowest = Math.max(lowest, vertex.rank);
  }
  for (const vertex of inOrder) if (vertex.kind === "out") vertex.rank = lowest + 1;
}
