/** Lay out the inside of one group: boxes in layers, edges between them, ports at its border. */
import { orderArguments } from "./arrivals";
import { alignColumns } from "./columns";
import { chipWidth, SIZES, type GroupLayout, type LayoutGraph, type LayoutNode, type PlacedBox, type PlacedChip } from "./layoutgraph";
import { makeLayers, type Layers, type Line, type Vertex } from "./layers";
import { orderLayers } from "./ordering";
import { farReaders, groupBy } from "./fanout";
import { findRanks } from "./ranking";
import { stackRows } from "./rows";
import { traceWires } from "./tracing";

/** All that runs between two ends: children of the group or, with -1, the outside. */
export interface Wire {
  readonly from: number;
  readonly to: number;
  /** The ops that made what runs through it; just one where an end is the outside. */
  readonly sources: readonly number[];
  readonly edges: readonly number[];
  readonly stepsBefore: number;
  readonly stepsAfter: number;
  readonly isCondition: boolean;
}

/** A layout with its ports: for each op whose value crosses the border, where. */
export interface LaidOut {
  readonly layout: GroupLayout;
  readonly inPorts: ReadonlyMap<number, number>;
  readonly outPorts: ReadonlyMap<number, number>;
}

/** From this many values that leave a group on, they leave together. */
const MANY_WAYS_OUT = 4;

type Inner = (child: number) => LaidOut | undefined;

export function layOutGroup(
  id: number,
  graph: LayoutGraph,
  group: number,
  wires: readonly Wire[],
  inner: Inner,
): LaidOut {
  const { nodes } = graph;
  const draft = new Draft(graph, group, inner);
  for (const wire of wires) draft.addWire(wire);
  findRanks(draft.vertices, draft.lines);
  draft.shortenFanOut();
  draft.shortenWayOut();
  findRanks(draft.vertices, draft.lines);
  const layers = makeLayers(draft.vertices, draft.lines);
  orderArguments(draft.lines);
  orderLayers(layers);
  alignColumns(layers);
  const isRoot = nodes[group]!.parent < 0;
  const top = isRoot ? 0 : SIZES.header;
  const width = draft.shiftIntoFrame(layers, isRoot ? SIZES.padding : nodes[group]!.titleWidth);
  const { height, bends } = stackRows(layers, top, isRoot ? 0 : SIZES.padding);
  return {
    layout: {
      id,
      key: nodes[group]!.key,
      width,
      height,
      boxes: draft.boxes(),
      chips: draft.chips(),
      wires: traceWires(layers, bends, height),
    },
    inPorts: draft.ports("in"),
    outPorts: draft.ports("out"),
  };
}

class Draft {
  readonly vertices: Vertex[] = [];
  readonly lines: Line[] = [];
  private readonly vertexOf = new Map<string, Vertex>();
  private readonly nodes: readonly LayoutNode[];
  /** Values that leave by the port of another. */
  private readonly portOf = new Map<number, Vertex>();
  private readonly gone = new Set<Vertex>();

  constructor(
    private readonly graph: LayoutGraph,
    group: number,
    private readonly inner: Inner,
  ) {
    this.nodes = graph.nodes;
    for (const child of this.nodes[group]!.children) this.addChild(child);
  }

  private add(vertex: Omit<Vertex, "index" | "fan" | "isLow" | "rank" | "x" | "y">): Vertex {
    // Written out, since there are many and spreading is slow.
    const made: Vertex = {
      index: this.vertices.length, kind: vertex.kind, child: vertex.child, source: vertex.source, order: vertex.order,
      isPinned: vertex.isPinned, keys: vertex.keys, names: vertex.names, width: vertex.width,
      height: vertex.height, center: vertex.center, fan: 0, isLow: false, rank: 0, x: 0, y: 0,
    };
    this.vertices.push(made);
    return made;
  }

  private addChild(child: number): void {
    const node = this.nodes[child]!;
    const inside = this.inner(child);
    const size =
      inside === undefined
        ? { width: node.left + SIZES.bodyWidth, height: node.height, center: node.left + SIZES.bodyWidth / 2 }
        : { width: inside.layout.width, height: inside.layout.height, center: inside.layout.width / 2 };
    const vertex = this.add({
      kind: inside === undefined ? "box" : "open",
      child,
      source: -1,
      order: node.order,
      isPinned: node.isPinned,
      keys: [],
      names: "sources",
      ...size,
    });
    this.vertexOf.set(`${child}`, vertex);
  }

  private port(kind: "in" | "out", source: number): Vertex {
    const name = `${kind} ${source}`;
    let vertex = this.vertexOf.get(name);
    if (vertex === undefined) {
      const order = kind === "in" ? -1 : Number.MAX_SAFE_INTEGER;
      vertex = this.add({
        kind, child: -1, source, order, isPinned: true, keys: [], names: "sources", width: 16, height: 0, center: 8,
      });
      this.vertexOf.set(name, vertex);
    }
    return vertex;
  }

  addWire({ from: start, to: end, sources, edges, stepsBefore, stepsAfter, isCondition }: Wire): void {
    const source = sources[0]!;
    const from = start < 0 ? this.port("in", source) : this.vertexOf.get(`${start}`)!;
    const to = end < 0 ? this.port("out", source) : this.vertexOf.get(`${end}`)!;
    this.lines.push({
      from,
      to,
      sources,
      edges,
      stepsBefore,
      stepsAfter,
      isBack: from.order >= to.order,
      leaves: this.inner(from.child)?.outPorts.get(source) ?? from.center,
      reaches: to.kind === "open" ? (this.inner(to.child)?.inPorts.get(source) ?? to.center) : null,
      wantsLabel: !isCondition && this.isTelling(from, to, source),
      isCondition,
      slot: this.slotOf(edges, end),
      share: null,
      words: edges.reduce((most, edge) => Math.max(most, this.graph.words[edge]!), 0),
      wordSide: "right",
    });
  }

  /** Which argument of the box it is; -1 where that does not matter, or the reader is not seen. */
  private slotOf(edges: readonly number[], end: number): number {
    const slots = edges.filter((edge) => this.graph.edges[2 * edge + 1] === end).map((edge) => this.graph.slots[edge]!);
    return slots.length === 0 ? -1 : Math.min(...slots);
  }

  /** Whether a shape is worth writing: it is new, or what it comes from is not seen. */
  private isTelling(from: Vertex, to: Vertex, source: number): boolean {
    if (from.child < 0 || to.child < 0) return false;
    return this.isGroup(from) || this.isGroup(to) || this.nodes[source]!.isReshaping;
  }

  private isGroup(vertex: Vertex): boolean {
    return this.nodes[vertex.child]!.isGroup;
  }

  private addChip(order: number, names: "sources" | "readers"): Vertex {
    return this.add({
      kind: "chip", child: -1, source: -1, order, isPinned: false, keys: [], names, width: 0,
      height: SIZES.chipHeight, center: 0,
    });
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
    for (const fan of groupBy(this.lines, (line) => `${line.from.index} ${line.leaves}`)) {
      for (const line of farReaders(fan, isDense ? 2 : 5, isDense ? 2 : 3)) {
        const chip = chipOf.get(line.to) ?? this.addChip(line.to.order - 0.5, "sources");
        chipOf.set(line.to, chip);
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
    const edges: number[] = [];
    const sources: number[] = [];
    for (const line of far) {
      const chip = chipOf.get(line.from) ?? this.addChip(line.from.order + 0.5, "readers");
      chipOf.set(line.from, chip);
      this.name(chip, line.edges.map((edge) => this.graph.edges[2 * edge + 1]!));
      this.name(gate, line.sources);
      for (const edge of line.edges) edges.push(edge);
      for (const source of line.sources) sources.push(source);
      this.portOf.set(line.to.source, port);
      if (line.to !== port) this.gone.add(line.to);
      line.to = chip;
    }
    for (const chip of [gate, ...chipOf.values()]) this.sizeChip(chip);
    const leaves = gate.center;
    this.lines.push({
      from: gate, to: port, sources, edges, stepsBefore: 0, stepsAfter: 0, isBack: false, leaves, reaches: null,
      wantsLabel: false, isCondition: false, slot: -1, share: null, words: 0,
      wordSide: "right",
    });
    const stays = this.vertices.filter((vertex) => !this.gone.has(vertex));
    this.vertices.length = 0;
    for (const vertex of stays) {
      vertex.index = this.vertices.length;
      this.vertices.push(vertex);
    }
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
      const y = vertex.y + (vertex.height - SIZES.bodyHeight) / 2;
      return {
        key: node.key, x: vertex.x + node.left, y, width: SIZES.bodyWidth, height: SIZES.bodyHeight, inner: null,
      };
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
