/** Questions to the layout and its answers, whether it runs in a worker or in the page. */
import { obtain } from "../../data/collections";
import { messageOf } from "../../data/message-of";
import { type LaidOut, layOutGroup, type Steps, type Wire } from "./group-layout";
import type { GroupLayout, LayoutGraph } from "./layout-graph";

/** Which groups are open; with the graph where it is another than the one before. */
export interface LayoutQuestion {
  readonly id: number;
  readonly open: readonly string[];
  readonly graph?: LayoutGraph | undefined;
}

/** With the id of its question. */
export type LayoutReply = { readonly id: number } & (
  | { readonly type: "laid-out"; readonly answer: LayoutAnswer }
  | { readonly type: "progress"; readonly numPlaced: number }
  | { readonly type: "failed"; readonly reason: string }
);

/** Between two reports of progress. */
const REPORT_EVERY_MS = 100;

export class LayoutDesk {
  private graph: LayoutGraph | undefined;
  private layouter: Layouter | null = null;

  constructor(private readonly reply: (reply: LayoutReply) => void) {}

  ask({ id, open, graph }: LayoutQuestion): void {
    if (graph !== undefined) [this.graph, this.layouter] = [graph, null];
    let reported = performance.now();
    try {
      this.layouter ??= new Layouter(this.graph!);
      const answer = this.layouter.layOut(open, (numPlaced) => {
        const now = performance.now();
        if (now - reported < REPORT_EVERY_MS) return;
        reported = now;
        this.reply({ type: "progress", id, numPlaced });
      });
      this.reply({ type: "laid-out", id, answer });
    } catch (error) {
      this.reply({ type: "failed", id, reason: messageOf(error) });
    }
  }
}

/** Layouts are kept for as many groups and states as this; then the oldest go. */
const MOST_KEPT = 20_000;

export interface LayoutAnswer {
  readonly root: number;
  /** Those that were made for this picture; the others of it were handed out before. */
  readonly fresh: readonly GroupLayout[];
}

/** Lay out the open groups of a pass, one group's inside at a time, from the inside out, with a cache. */
export class Layouter {
  private readonly wires: Wire[][];
  private readonly steps: Steps;
  private readonly indexOf: ReadonlyMap<string, number>;
  private readonly cache = new Map<string, LaidOut>();
  private numMade = 0;

  constructor(private readonly graph: LayoutGraph) {
    this.indexOf = new Map(graph.nodes.map((node, index) => [node.key, index]));
    this.wires = localWires(graph);
    this.steps = countSteps(graph);
  }

  /** Lay out with these groups open. `progress` hears how many ops have been placed. */
  layOut(openKeys: Iterable<string>, progress: (numOps: number) => void = () => undefined): LayoutAnswer {
    const open = new Set<number>([0]);
    for (const key of openKeys) {
      const index = this.indexOf.get(key);
      if (index !== undefined && this.graph.nodes[index]!.children.length > 0) open.add(index);
    }
    const fresh: GroupLayout[] = [];
    const done = new Map<number, { readonly laidOut: LaidOut; readonly signature: string }>();
    let [numPlaced, root] = [0, 0];
    for (const group of this.openGroupsInsideOut(open)) {
      const inside = this.graph.nodes[group]!.children.map((child) => done.get(child)?.signature ?? "");
      const signature = `${group}(${inside.filter((part) => part !== "").join(",")})`;
      let laidOut = this.cache.get(signature);
      if (laidOut === undefined) {
        this.numMade += 1;
        const inner = (child: number): LaidOut | undefined => done.get(child)?.laidOut;
        laidOut = layOutGroup(this.numMade, this.graph, group, this.wires[group]!, this.steps, inner);
        if (this.cache.size >= MOST_KEPT) this.cache.delete(this.cache.keys().next().value!);
        this.cache.set(signature, laidOut);
        fresh.push(laidOut.layout);
      }
      numPlaced += this.graph.nodes[group]!.children.length;
      progress(numPlaced);
      root = laidOut.layout.id;
      // The id stands for the whole signature, which would grow with the depth.
      done.set(group, { laidOut, signature: `#${laidOut.layout.id}` });
    }
    return { root, fresh };
  }

  /** Open groups that are on screen, inner ones before those around them. */
  private openGroupsInsideOut(open: ReadonlySet<number>): number[] {
    const found = [0];
    // What is pushed on the way is visited too.
    for (const group of found) {
      for (const child of this.graph.nodes[group]!.children) if (open.has(child)) found.push(child);
    }
    return found.reverse();
  }
}

/** For each group what its children hand each other, take from outside and give away, by the op that made it. */
function localWires(graph: LayoutGraph): Wire[][] {
  const wires: Wire[][] = graph.nodes.map(() => []);
  const known = new Map<string, Wire>();
  const depth: number[] = [];
  for (const node of graph.nodes) depth.push(node.parent < 0 ? 0 : depth[node.parent]! + 1);
  const add = (group: number, source: number, from: number, to: number, edge: number): void => {
    const isCondition = edge >= graph.firstCondition;
    const lane = graph.lanes?.[edge] ?? 0;
    const name = `${group} ${source} ${from} ${to} ${lane}${isCondition ? "?" : ""}`;
    const wire = obtain(known, name, () => {
      const made: Wire = { source, from, to, edges: [], isCondition, lane };
      wires[group]!.push(made);
      return made;
    });
    wire.edges.push(edge);
  };
  const parent = (node: number): number => graph.nodes[node]!.parent;
  for (let edge = 0; edge * 2 < graph.edges.length; edge += 1) {
    const [source, target] = [graph.edges[edge * 2]!, graph.edges[edge * 2 + 1]!];
    let [from, to] = [source, target];
    while (parent(from) !== parent(to)) {
      if (depth[from]! >= depth[to]!) {
        add(parent(from), source, from, -1, edge);
        from = parent(from);
      } else {
        add(parent(to), source, -1, to, edge);
        to = parent(to);
      }
    }
    add(parent(from), source, from, to, edge);
  }
  return wires;
}

/** The longest way through the whole graph, so that the main line goes on through groups as it came in. */
function countSteps({ nodes, edges, firstCondition }: LayoutGraph): Steps {
  const before = new Int32Array(nodes.length).fill(1);
  const after = new Int32Array(nodes.length).fill(1);
  const comesFrom = new Int32Array(nodes.length).fill(-1);
  const order = (node: number): number => nodes[node]!.order;
  const [from, to] = [(edge: number): number => edges[2 * edge]!, (edge: number): number => edges[2 * edge + 1]!];
  const forward: number[] = [];
  for (let edge = 0; edge < firstCondition; edge += 1) if (order(from(edge)) < order(to(edge))) forward.push(edge);
  forward.sort((a, b) => order(to(a)) - order(to(b)));
  for (const edge of forward) {
    if (before[from(edge)]! < before[to(edge)]!) continue;
    before[to(edge)] = before[from(edge)]! + 1;
    comesFrom[to(edge)] = edge;
  }
  forward.sort((a, b) => order(from(b)) - order(from(a)));
  for (const edge of forward) after[from(edge)] = Math.max(after[from(edge)]!, after[to(edge)]! + 1);
  const longest = new Set<number>();
  const end = before.indexOf(before.reduce((most, count) => Math.max(most, count), 0));
  for (let edge = comesFrom[end] ?? -1; edge >= 0; edge = comesFrom[from(edge)]!) longest.add(edge);
  return { before, after, longest };
}
