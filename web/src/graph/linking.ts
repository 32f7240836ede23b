/** Edges between op nodes: the tensors that they hand on, and what their values decided. */
import type { BranchEntry, OpEntry, PassDocument } from "../wire";
import type { GraphEdge, GraphNode, Hierarchy } from "./model";
import { shapeRange, shapeText } from "./naming";

type Links = Pick<Hierarchy, "edges" | "leaving" | "reaching">;
type Nodes = ReadonlyMap<string, GraphNode>;
type Draft = { -readonly [Name in keyof GraphEdge]: GraphEdge[Name] } & { uses: GraphEdge["uses"][number][] };

/** The statements whose way is drawn, as they are written. */
const STATEMENTS: Readonly<Record<string, string>> = { if: "if", while: "while", "if-expression": "if" };

/** One edge for each pair of boxes that hand a tensor on, then one for each that decides about another. */
export function linkNodes(document: PassDocument, nodes: Nodes, nodeOfOp: readonly string[]): Links {
  const known = new Map<string, Draft>();
  for (const [index, op] of document.ops.entries()) {
    const to = nodes.get(nodeOfOp[index]!);
    if (to?.host !== null) continue;
    const isBox = op.parents.map(([parent]) => parent >= 0 && nodes.get(nodeOfOp[parent]!)?.host === null);
    const links = op.parents.filter((_, place) => isBox[place]);
    const names = op.argument_order_matters ? shortArguments(links.map(([, argument]) => argument)) : [];
    for (const [place, [parent, argument]] of links.entries()) {
      const from = nodes.get(nodeOfOp[parent]!)!;
      const use = { from: parent, to: index, name: names[place] ?? "" };
      const slot = op.argument_order_matters ? place : -1;
      const name = `${from.key} ${to.key}`;
      const edge = known.get(name);
      if (edge === undefined) known.set(name, dataEdge(document.ops[parent]!, from, to, argument, slot, use));
      else join(edge, document.ops[parent]!, argument, use);
    }
  }
  const edges = [...known.values()];
  const links = { leaving: byEnd(edges, "from"), reaching: byEnd(edges, "to") };
  return { edges: [...edges, ...conditions(document, nodes, nodeOfOp)], ...links };
}

/** `0` and `1` for the members of a list that is the only thing given, else the names as they are. */
export function shortArguments(names: readonly string[]): string[] {
  const heads = new Set(names.map((name) => name.split(".")[0]));
  if (heads.size !== 1 || !names.every((name) => name.includes("."))) return [...names];
  return names.map((name) => name.slice(name.indexOf(".") + 1));
}

function dataEdge(
  made: OpEntry,
  from: GraphNode,
  to: GraphNode,
  argument: string,
  slot: number,
  use: GraphEdge["uses"][number],
): Draft {
  return {
    kind: "data",
    from: from.key,
    to: to.key,
    argument,
    op: use.from,
    shape: shapeText(made.shape),
    numBytes: made.num_bytes,
    isBack: from.order >= to.order,
    uses: [use],
    slot,
    condition: "",
  };
}

/** Another argument of the same pair, or in the rolled form another pass. */
function join(edge: Draft, made: OpEntry, argument: string, use: GraphEdge["uses"][number]): void {
  if (!edge.argument.split(", ").includes(argument)) edge.argument += `, ${argument}`;
  edge.shape = shapeRange(edge.shape, shapeText(made.shape));
  edge.numBytes = Math.max(edge.numBytes, made.num_bytes);
  edge.uses.push(use);
}

/** From the op whose value Python asked for to the first op that is drawn of those that followed. */
function conditions(document: PassDocument, nodes: Nodes, nodeOfOp: readonly string[]): GraphEdge[] {
  const found = new Map<string, GraphEdge>();
  const boxOf = (op: number): GraphNode | undefined => {
    const node = nodes.get(nodeOfOp[op] ?? "");
    return node?.host === null ? node : undefined;
  };
  for (const branch of document.branches) {
    if (STATEMENTS[branch.statement] === undefined || branch.op < 0) continue;
    const from = boxOf(branch.op);
    const to = branch.followed_by.map(boxOf).find((node) => node !== undefined);
    if (from === undefined || to === undefined || from === to) continue;
    const condition = conditionText(branch);
    const name = `${from.key} ${to.key} ${condition}`;
    if (found.has(name)) continue;
    const nothing = { argument: "", shape: "", numBytes: 0, uses: [], slot: -1 };
    const isBack = from.order >= to.order;
    found.set(name, { kind: "condition", from: from.key, to: to.key, op: branch.op, isBack, condition, ...nothing });
  }
  return [...found.values()];
}

function conditionText({ statement, value, taken }: BranchEntry): string {
  const word = STATEMENTS[statement]!;
  if (value === "True" || value === "False") return `${word} ${value}`;
  // A number such as `x.item()` was compared with something: only the way taken can be told.
  return taken === "" ? word : `${word}: ${taken}`;
}

function byEnd(edges: readonly GraphEdge[], end: "from" | "to"): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const [index, edge] of edges.entries()) {
    const list = found.get(edge[end]);
    if (list === undefined) found.set(edge[end], [index]);
    else list.push(index);
  }
  return found;
}
