/** Edges between ops: which there are, what they lead to, and in which passes. */
import type { BranchEntry, PassDocument } from "../../wire";
import { groupBy, obtain } from "../collections";
import { formatShape } from "../format";
import type { GraphEdge, GraphNode, Hierarchy, Use } from "./model";
import { distinct, joined, shapeRange } from "./node-words";

/** Keys of the op nodes inside a node; of an op itself, of a chip none. */
export function opNodesInside(hierarchy: Hierarchy, key: string): string[] {
  const node = hierarchy.nodes.get(key);
  if (node === undefined) return [];
  return node.kind === "op" ? [key] : node.children.flatMap((child) => opNodesInside(hierarchy, child));
}

/** Keys of the groups around a node, from the inside out. */
export function* groupsAround({ nodes }: Hierarchy, key: string): Generator<string> {
  for (let at = nodes.get(key)?.parent; at != null; at = nodes.get(at)?.parent) yield at;
}

/** The groups to open so that nodes of this depth are on screen; the children of the model have depth 1. */
export function groupsToDepth({ nodes }: Hierarchy, depth: number): Set<string> {
  return new Set([...nodes.values()].filter((node) => node.kind === "group" && node.depth < depth).map(({ key }) => key));
}

/** Keys of the boxes on screen while these groups are open, outer ones before inner ones. */
export function shownKeys({ nodes, root }: Hierarchy, open: ReadonlySet<string>): string[] {
  const inside = (key: string): string[] => nodes.get(key)!.children.flatMap((child) => [child, ...(open.has(child) ? inside(child) : [])]);
  return inside(root);
}

/** Indices of all ops inside a node, in the order they ran. */
export function opsInside(hierarchy: Hierarchy, key: string): number[] {
  const ops = opNodesInside(hierarchy, key).flatMap((inside) => [...hierarchy.nodes.get(inside)!.ops]);
  return ops.sort((a, b) => a - b);
}

/** The nodes of another form that stand for a node: of a rolled one there can be many. */
export function counterparts(from: Hierarchy, to: Hierarchy, key: string): string[] {
  const node = from.nodes.get(key);
  const keys = node?.kind === "op" ? node.ops.map((op) => to.nodeOfOp[op]) : (node?.scopes ?? []).map((call) => to.nodeOfScope[call]);
  return [...new Set(keys.filter((one) => one !== undefined && one !== null))];
}

/** Op nodes from which a value reaches this node, without those inside it. */
export function ancestors(hierarchy: Hierarchy, key: string): Set<string> {
  return reachable(hierarchy, key, hierarchy.reaching, "from");
}

/** Op nodes that a value of this node reaches, without those inside it. */
export function descendants(hierarchy: Hierarchy, key: string): Set<string> {
  return reachable(hierarchy, key, hierarchy.leaving, "to");
}

function reachable(
  hierarchy: Hierarchy,
  key: string,
  edgesAt: Hierarchy["leaving"],
  end: "from" | "to",
): Set<string> {
  const inside = startingPoints(hierarchy, key, end);
  const found = new Set<string>();
  const waiting = [...inside];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const index of edgesAt.get(at) ?? []) {
      const next = hierarchy.edges[index]![end];
      if (found.has(next) || inside.has(next)) continue;
      found.add(next);
      waiting.push(next);
    }
  }
  return found;
}

/** A chip has no edges of its own: what it reaches are the boxes that read it, and all that follows. */
function startingPoints(hierarchy: Hierarchy, key: string, end: "from" | "to"): Set<string> {
  const node = hierarchy.nodes.get(key);
  if (node?.host == null) return new Set(opNodesInside(hierarchy, key));
  return new Set(end === "to" ? chipReaders(hierarchy, node) : []);
}

/** The boxes that read what they show as this chip; none for a node that is a box itself. */
export function chipReaders(hierarchy: Hierarchy, { key, host }: GraphNode): string[] {
  const readers: string[] = [];
  if (host === null) return readers;
  for (const node of hierarchy.nodes.values()) {
    if (node.chips.some((chip) => chip.key === key && chip.isRead)) readers.push(node.key);
  }
  return readers;
}

/** More stretches than this, as in `1–3, 7, 9–12`, are only counted. */
const MOST_STRETCHES = 3;

/** A use with the passes of the boxes at both ends. */
interface Turned {
  readonly out: number;
  readonly into: number;
  readonly name: string;
}

/** `0 · passes 2–5` for what one box on screen gives another; empty where there is nothing to say. */
export function wordsBetween(tree: Hierarchy, uses: readonly Use[], from: GraphNode, to: GraphNode): string {
  const names = to.kind === "op" ? distinct(uses.map((use) => use.name)) : [];
  // A stretch of ops is the call of nothing, and has no passes.
  if (tree.form === "unrolled" || numTurns(from) === 0 || numTurns(to) === 0) return names.join(", ");
  const turned = uses.map((use) => ({
    out: turnOf(tree, use.from, from),
    into: turnOf(tree, use.to, to),
    name: to.kind === "op" ? use.name : "",
  }));
  const runOften = numTurns(from) > 1 && numTurns(to) > 1;
  const isBefore = ({ out, into }: Turned): boolean => runOften && out !== into;
  const before = turned.filter(isBefore);
  const same = turned.filter((use) => !isBefore(use));
  const crossed = crossedNames(same, from, to);
  if (crossed !== "" && before.length === 0) return crossed;
  const passes = [passesOfSame(same, from, to), passesFromBefore(before, from, to)];
  // Both ways in one line: what has nothing to say is there each time.
  if (same.length > 0 && before.length > 0 && passes[0] === "" && passes[1] !== "") passes[0] = "same pass";
  return joined([names.join(", "), joined(passes, ", ")], " · ");
}

function passesOfSame(uses: readonly Turned[], from: GraphNode, to: GraphNode): string {
  const [out, into] = [turns(uses, "out"), turns(uses, "into")];
  if (uses.length === 0) return "";
  if (into.length < numTurns(to)) return passesText(into, to);
  return out.length < numTurns(from) ? `from ${passesText(out, from)}` : "";
}

/** What comes back is told by its readers' passes, what runs on by where it comes from. */
function passesFromBefore(uses: readonly Turned[], from: GraphNode, to: GraphNode): string {
  if (uses.length === 0) return "";
  if (from.order >= to.order) return passesOfSame(uses, from, to);
  if (uses.every(({ out, into }) => into - out === 1)) return "from the pass before";
  return `from ${passesText(turns(uses, "out"), from)}`;
}

/** `0 from pass 1, 1 from pass 2`: a difference of two passes of one layer. */
function crossedNames(uses: readonly Turned[], from: GraphNode, to: GraphNode): string {
  const [out, into] = [turns(uses, "out"), turns(uses, "into")];
  const isCrossed = into.length === 1 && numTurns(to) === 1 && out.length > 1 && numTurns(from) > 1;
  if (!isCrossed || distinct(uses.map((use) => use.name)).length < 2) return "";
  const sorted = [...uses].sort((a, b) => a.out - b.out || a.name.localeCompare(b.name));
  return sorted.map(({ name, out: turn }) => `${name} from pass ${turn}`).join(", ");
}

/** How often a box ran; 0 for a stretch of ops. */
function numTurns(node: GraphNode): number {
  return node.kind === "op" ? node.ops.length : node.scopes.length;
}

/** Which pass of its box an op belongs to. */
function turnOf({ document }: Hierarchy, op: number, node: GraphNode): number {
  const entry = document.ops[op]!;
  if (node.kind === "op") return entry.pass_num;
  let scope = entry.scope;
  while (scope >= 0 && !node.scopes.includes(scope)) scope = document.scopes[scope]?.parent ?? -1;
  return node.scopes.indexOf(scope) + 1;
}

function turns(uses: readonly Turned[], end: "out" | "into"): number[] {
  return [...new Set(uses.map((use) => use[end]))].sort((a, b) => a - b);
}

/** `passes 2–5`; where that would become a long list, only how many. */
function passesText(numbers: readonly number[], node: GraphNode): string {
  const stretches: [number, number][] = [];
  for (const number of numbers) {
    const last = stretches.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else stretches.push([number, number]);
  }
  if (stretches.length > MOST_STRETCHES) return `${numbers.length} of ${numTurns(node)} passes`;
  const texts = stretches.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return `${numbers.length === 1 ? "pass" : "passes"} ${texts.join(", ")}`;
}

// --- Edges between op nodes: the tensors that they hand on, and what their values decided.

type Links = Pick<Hierarchy, "edges" | "leaving" | "reaching">;
type Nodes = ReadonlyMap<string, GraphNode>;
type Draft = { -readonly [Name in keyof GraphEdge]: GraphEdge[Name] } & { uses: Use[] };

/** The statements whose way is drawn, as they are written. */
const STATEMENTS: Readonly<Record<string, string>> = { if: "if", while: "while", "if-expression": "if" };

/** One edge for each pair of boxes that hand a tensor on, then one for each that decides about another. */
export function linkNodes(document: PassDocument, nodes: Nodes, nodeOfOp: readonly string[]): Links {
  const known = new Map<string, Draft>();
  const boxOf = (op: number): GraphNode | undefined => {
    const node = nodes.get(nodeOfOp[op] ?? "");
    return node?.host === null ? node : undefined;
  };
  for (const [index, op] of document.ops.entries()) {
    const to = boxOf(index);
    if (to === undefined) continue;
    const links = op.parents.filter(([parent]) => boxOf(parent) !== undefined);
    const names = op.argument_order_matters ? shortArguments(links.map(([, argument]) => argument)) : [];
    for (const [place, [parent]] of links.entries()) {
      const from = boxOf(parent)!;
      const { num_bytes: numBytes, shape } = document.ops[parent]!;
      const slot = op.argument_order_matters ? place : -1;
      const edge = obtain(known, `${from.key} ${to.key}`, (): Draft => ({
        kind: "data", from: from.key, to: to.key, op: parent, shape: formatShape(shape), numBytes, uses: [], slot, condition: "",
      }));
      // Another argument of the same pair, or in the rolled form another pass.
      edge.shape = shapeRange(edge.shape, formatShape(shape));
      edge.numBytes = Math.max(edge.numBytes, numBytes);
      edge.uses.push({ from: parent, to: index, name: names[place] ?? "" });
    }
  }
  const edges = [...known.values()];
  const byEnd = (end: "from" | "to"): Map<string, number[]> => groupBy(edges.keys(), (index) => edges[index]![end]);
  return { edges: [...edges, ...conditions(document, boxOf)], leaving: byEnd("from"), reaching: byEnd("to") };
}

/** `0` and `1` for the members of a list that is the only thing given, else the names as they are. */
export function shortArguments(names: readonly string[]): string[] {
  const heads = new Set(names.map((name) => name.split(".")[0]));
  if (heads.size !== 1 || !names.every((name) => name.includes("."))) return [...names];
  return names.map((name) => name.slice(name.indexOf(".") + 1));
}

/** From the op whose value Python asked for to the first op that is drawn of those that followed. */
function conditions(document: PassDocument, boxOf: (op: number) => GraphNode | undefined): GraphEdge[] {
  const found = new Map<string, GraphEdge>();
  for (const branch of document.branches) {
    const from = boxOf(branch.op);
    const to = branch.followed_by.map(boxOf).find((node) => node !== undefined);
    if (STATEMENTS[branch.statement] === undefined || from === undefined || to === undefined || from === to) continue;
    const condition = conditionText(branch);
    obtain(found, `${from.key} ${to.key} ${condition}`, (): GraphEdge => ({
      kind: "condition", from: from.key, to: to.key, op: branch.op, shape: "", numBytes: 0, uses: [], slot: -1, condition,
    }));
  }
  return [...found.values()];
}

function conditionText({ statement, value, taken }: BranchEntry): string {
  const word = STATEMENTS[statement]!;
  if (value === "True" || value === "False") return `${word} ${value}`;
  // A number such as `x.item()` was compared with something: only the way taken can be told.
  return taken === "" ? word : `${word}: ${taken}`;
}
