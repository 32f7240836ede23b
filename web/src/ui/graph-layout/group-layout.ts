/** Lay out the inside of one group: boxes in layers, edges between them, ports at its border. */
import { groupBy, obtain } from "../../data/collections";
import type { Size } from "../pan-zoom";
import { type Layers, Line, makeLayers, orderArguments, Vertex } from "./layers";
import {
  chipWidth,
  type GroupLayout,
  type LayoutGraph,
  type LayoutNode,
  type PlacedBox,
  type PlacedChip,
  SIZES,
} from "./layout-graph";
import { alignColumns, orderLayers } from "./order";
import { stackRows } from "./rows";
import { traceWires } from "./trace";

/** What an op gives from a child of the group to another; -1 is the outside. */
export interface Wire {
  readonly source: number;
  readonly from: number;
  readonly to: number;
  readonly edges: number[];
  readonly isCondition: boolean;
  readonly lane: number;
}

export interface Steps {
  /** For each node how many ops lie on the longest way to it, itself included. */
  readonly before: Int32Array;
  /** The same for the longest way from it. */
  readonly after: Int32Array;
  /** The edges of one longest way of all. */
  readonly longest: ReadonlySet<number>;
}

/** A layout with its ports: for each op whose value crosses the border, where. */
export interface LaidOut {
  readonly layout: GroupLayout;
  readonly inPorts: ReadonlyMap<number, number>;
  readonly outPorts: ReadonlyMap<number, number>;
}

/** Lines that move far sideways do so gently. */
const MOST_BEND = 72;

/** From this many values that leave a group on, they leave together. */
const MANY_WAYS_OUT = 4;

type Inner = (child: number) => LaidOut | undefined;

export function layOutGroup(
  id: number,
  graph: LayoutGraph,
  group: number,
  wires: readonly Wire[],
  steps: Steps,
  inner: Inner,
): LaidOut {
  const { nodes } = graph;
  const draft = new Draft(graph, group, inner);
  for (const wire of wires) draft.addWire(wire, steps);
  draft.findHeads();
  findRanks(draft.vertices, draft.lines);
  if (graph.hasLongLines !== true) {
    draft.shortenFanOut();
    draft.shortenWayOut();
    findRanks(draft.vertices, draft.lines);
  }
  const layers = makeLayers(draft.vertices, draft.lines);
  orderArguments(draft.lines);
  orderLayers(layers);
  alignColumns(layers);
  const isRoot = nodes[group]!.parent < 0;
  const top = isRoot ? 0 : SIZES.header;
  const width = draft.shiftIntoFrame(layers, isRoot ? SIZES.padding : nodes[group]!.titleWidth);
  const height = stackRows(layers, top, isRoot ? 0 : SIZES.padding, graph.mostBend ?? MOST_BEND);
  return {
    layout: {
      id,
      key: nodes[group]!.key,
      width,
      height,
      boxes: draft.boxes(),
      chips: draft.chips(),
      wires: traceWires(layers, height),
    },
    inPorts: draft.ports("in"),
    outPorts: draft.ports("out"),
  };
}

class Draft {
  readonly vertices: Vertex[] = [];
  readonly lines: Line[] = [];
  private readonly vertexOf = new Map<string, Vertex>();
  private readonly lineOf = new Map<string, Line>();
  private readonly nodes: readonly LayoutNode[];
  /** Values that leave by the port of another. */
  private readonly portOf = new Map<number, Vertex>();

  constructor(
    private readonly graph: LayoutGraph,
    group: number,
    private readonly inner: Inner,
  ) {
    this.nodes = graph.nodes;
    for (const child of this.nodes[group]!.children) this.addChild(child);
  }

  private add(given: ConstructorParameters<typeof Vertex>[0]): Vertex {
    const made = new Vertex(given);
    made.index = this.vertices.length;
    this.vertices.push(made);
    return made;
  }

  private addChild(child: number): void {
    const node = this.nodes[child]!;
    const { order, isPinned, left, height } = node;
    const inside = this.inner(child)?.layout;
    const body = bodyOf(node);
    const vertex =
      inside === undefined
        ? this.add({ kind: "box", child, order, isPinned, width: left + body.width, height, bodyHeight: body.height, center: left + body.width / 2 })
        : this.add({ kind: "open", child, order, isPinned, width: inside.width, height: inside.height, center: inside.width / 2 });
    this.vertexOf.set(`${child}`, vertex);
  }

  private port(kind: "in" | "out", source: number): Vertex {
    const order = kind === "in" ? -1 : Number.MAX_SAFE_INTEGER;
    return obtain(this.vertexOf, `${kind} ${source}`, () => this.add({ kind, source, order, isPinned: true, width: 16, center: 8 }));
  }

  /** What meets the same ports, or the same closed boxes, is one line. */
  addWire({ source, from: start, to: end, edges, isCondition, lane }: Wire, { before, after, longest }: Steps): void {
    const from = start < 0 ? this.port("in", source) : this.vertexOf.get(`${start}`)!;
    const to = end < 0 ? this.port("out", source) : this.vertexOf.get(`${end}`)!;
    const [outPort, inPort] = [this.inner(start)?.outPorts.get(source), this.inner(end)?.inPorts.get(source)];
    const line = obtain(this.lineOf, `${from.index} ${outPort} ${to.index} ${inPort} ${lane} ${isCondition}`, () => {
      const made = new Line({
        from,
        to,
        sources: [],
        edges: [],
        isBack: from.order >= to.order,
        leaves: outPort ?? from.center,
        reaches: to.kind === "open" ? (inPort ?? to.center) : null,
        wantsLabel: !isCondition && this.isTelling(from, to, source),
        isCondition,
        lane,
      });
      this.lines.push(made);
      return made;
    });
    line.sources.push(source);
    for (const edge of edges) {
      line.edges.push(edge);
      if (isCondition) continue;
      // Where two ways are equally long, both ends must choose the same one.
      const bonus = longest.has(edge) ? 0.5 : 0;
      line.stepsBefore = Math.max(line.stepsBefore, before[source]! + bonus);
      line.stepsAfter = Math.max(line.stepsAfter, after[this.graph.edges[2 * edge + 1]!]! + bonus);
    }
  }

  /** Which argument of its box each line is, -1 where that does not matter or the reader is not seen, and its words. */
  findHeads(): void {
    const { edges: ends, slots, words } = this.graph;
    for (const line of this.lines) {
      const own = line.edges.filter((edge) => ends[2 * edge + 1] === line.to.child).map((edge) => slots[edge]!);
      line.slot = own.length === 0 ? -1 : Math.min(...own);
      line.words = line.edges.reduce((most, edge) => Math.max(most, words[edge]!), 0);
    }
  }

  /** Whether a shape is worth writing: it is new, or what it comes from is not seen. */
  private isTelling(from: Vertex, to: Vertex, source: number): boolean {
    if (from.child < 0 || to.child < 0) return false;
    return this.nodes[from.child]!.isGroup || this.nodes[to.child]!.isGroup || this.nodes[source]!.isReshaping;
  }

  private addChip(order: number, names: "sources" | "readers"): Vertex {
    return this.add({ kind: "chip", order, names, height: SIZES.chipHeight });
  }

  /** Wide enough for a short title: the painter cuts longer ones. */
  private sizeChip(chip: Vertex): void {
    chip.width = chipWidth(chip.keys.length > 1 ? "000 tensors" : "attention_mask");
    chip.center = chip.width / 2;
    for (const line of this.lines) if (line.from === chip) line.leaves = chip.center;
  }

  /** What feeds many far boxes (a mask, say) is repeated above them as a chip: long edges would bury the rest. */
  shortenFanOut(): void {
    const isDense = this.lines.length > 2.5 * this.vertices.length;
    const chipOf = new Map<Vertex, Vertex>();
    for (const fan of groupBy(this.lines, (line) => `${line.from.index} ${line.leaves}`).values()) {
      for (const line of farReaders(fan, isDense ? 2 : 5, isDense ? 2 : 3)) {
        const chip = obtain(chipOf, line.to, () => this.addChip(line.to.order - 0.5, "sources"));
        this.name(chip, line.sources);
        line.from = chip;
        line.wantsLabel = false;
      }
    }
    for (const chip of chipOf.values()) this.sizeChip(chip);
  }

  private name(chip: Vertex, nodes: readonly number[]): void {
    for (const node of nodes) {
      const { key } = this.nodes[node]!;
      if (!chip.keys.includes(key)) chip.keys.push(key);
    }
  }

  /** Where many values leave the group from far inside (a cache, say), each says where it goes, and one port has all. */
  shortenWayOut(): void {
    const last = this.vertices.reduce((most, vertex) => (vertex.kind === "out" ? most : Math.max(most, vertex.rank)), 0);
    const far = this.lines.filter((line) => line.to.kind === "out" && line.from.rank < last);
    if (far.length <= MANY_WAYS_OUT) return;
    const gate = this.addChip(Number.MAX_SAFE_INTEGER - 1, "sources");
    const port = far[0]!.to;
    const chipOf = new Map<Vertex, Vertex>();
    const gone = new Set<Vertex>();
    const edges: number[] = [];
    const sources: number[] = [];
    for (const line of far) {
      const chip = obtain(chipOf, line.from, () => this.addChip(line.from.order + 0.5, "readers"));
      this.name(chip, line.edges.map((edge) => this.graph.edges[2 * edge + 1]!));
      this.name(gate, line.sources);
      for (const edge of line.edges) edges.push(edge);
      for (const source of line.sources) sources.push(source);
      this.portOf.set(line.to.source, port);
      if (line.to !== port) gone.add(line.to);
      line.to = chip;
    }
    for (const chip of [gate, ...chipOf.values()]) this.sizeChip(chip);
    this.lines.push(new Line({ from: gate, to: port, sources, edges, leaves: gate.center }));
    const stays = this.vertices.filter((vertex) => !gone.has(vertex));
    this.vertices.splice(0, Infinity, ...stays);
    for (const [index, vertex] of stays.entries()) vertex.index = index;
  }

  /** Move everything so that it starts at the left padding; gives the width of the group. */
  shiftIntoFrame(layers: Layers, atLeast: number): number {
    const boxes = layers.vertices;
    const left = boxes.reduce((least, vertex) => Math.min(least, vertex.x), Infinity);
    const right = layers.runs.reduce(
      (most, { line, column: [top] }) => (top === undefined ? most : Math.max(most, top.x + top.width + line.words)),
      boxes.reduce((most, vertex) => Math.max(most, vertex.x + vertex.width), -Infinity),
    );
    const inside = boxes.length === 0 ? 0 : right - left;
    const width = Math.max(atLeast, inside + 2 * SIZES.padding);
    const shift = (width - inside) / 2 - left;
    for (const vertex of boxes) vertex.x = Math.round((vertex.x + shift) * 2) / 2;
    return width;
  }

  boxes(): PlacedBox[] {
    const children = this.vertices.filter((vertex) => vertex.child >= 0);
    return children.map((vertex) => {
      const node = this.nodes[vertex.child]!;
      const inside = this.inner(vertex.child);
      if (inside !== undefined) {
        const { width, height, id } = inside.layout;
        return { key: node.key, x: vertex.x, y: vertex.y, width, height, inner: id };
      }
      const y = vertex.y + (vertex.height - vertex.bodyHeight) / 2;
      return { key: node.key, x: vertex.x + node.left, y, ...bodyOf(node), inner: null };
    });
  }

  chips(): PlacedChip[] {
    return this.vertices
      .filter((vertex) => vertex.kind === "chip")
      .map(({ keys, names, x, y, width, height }) => ({ keys, names, x, y, width, height }));
  }

  ports(kind: "in" | "out"): Map<number, number> {
    const ports = this.vertices.filter((vertex) => vertex.kind === kind);
    const places = new Map(ports.map((port) => [port.source, port.x + port.center]));
    if (kind === "out") for (const [source, port] of this.portOf) places.set(source, port.x + port.center);
    return places;
  }
}

function bodyOf({ body }: LayoutNode): Size {
  return body ?? { width: SIZES.bodyWidth, height: SIZES.bodyHeight };
}

/** Of the readers of one value, those to be given a chip of their own: never the nearest. */
function farReaders(fan: readonly Line[], fewReaders: number, nearRanks: number): Line[] {
  const readers = fan.filter((line) => line.to.kind !== "out" && !line.isBack && !line.isCondition);
  if (readers.length <= fewReaders) return [];
  readers.sort((a, b) => a.to.rank - b.to.rank);
  return readers.slice(1).filter((line) => line.to.rank - line.from.rank > nearRanks);
}

/** From this many readers on, a line that runs past many layers is there anyway. */
const WIDE_FAN = 6;

/** More boxes than this that nobody reads do not stand in one layer. */
const MOST_ENDS = 8;

/**
 * Layers by the longest way from the top; in-ports have rank 0, out-ports the last. Boxes that could stand lower
 * come down where that makes lines shorter: constants to just above their reader, steps of a loop to their step.
 */
function findRanks(vertices: readonly Vertex[], lines: readonly Line[]): void {
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
  private readonly from: ReadonlyMap<Vertex, readonly Line[]>;
  private readonly to: ReadonlyMap<Vertex, readonly Line[]>;

  constructor(lines: readonly Line[]) {
    const forward = lines.filter((line) => !line.isBack);
    this.from = groupBy(forward, (line) => line.from);
    this.to = groupBy(forward, (line) => line.to);
  }

  leaving(vertex: Vertex): readonly Line[] {
    return this.from.get(vertex) ?? [];
  }

  reaching(vertex: Vertex): readonly Line[] {
    return this.to.get(vertex) ?? [];
  }
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
