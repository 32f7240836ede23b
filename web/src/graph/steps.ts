/** The longest way through the whole graph, so that the main line goes on through groups as it came in. */
import type { LayoutGraph } from "./layoutgraph";

export interface Steps {
  /** For each node how many ops lie on the longest way to it, itself included. */
  readonly before: Int32Array;
  /** The same for the longest way from it. */
  readonly after: Int32Array;
  /** The edges of one longest way of all. */
  readonly longest: ReadonlySet<number>;
}

export function countSteps({ nodes, edges, firstCondition }: LayoutGraph): Steps {
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
