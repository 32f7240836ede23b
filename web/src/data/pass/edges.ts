/** What follows from edges: ancestors, descendants, and the edges between closed groups. */
import type { BranchEntry, OpEntry, PassDocument } from "../../wire";
import type { GraphEdge, GraphNode, Hierarchy, Use } from "./model";
import { shapeRange, shapeText } from "./node-words";

/** Keys of the op nodes inside a node; of an op itself, of a chip none. */
export function opNodesInside(hierarchy: Hierarchy, key: string): string[] {
  const found: string[] = [];
  const waiting = [key];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const node = hierarchy.nodes.get(at);
    if (node === undefined) continue;
    if (node.kind === "op") found.push(at);
    else for (let index = node.children.length - 1; index >= 0; index -= 1) waiting.push(node.children[index]!);
  }
  return found;
}

/** Indices of all ops inside a node, in the order they ran. */
export function opsInside(hierarchy: Hierarchy, key: string): number[] {
  const ops = opNodesInside(hierarchy, key).flatMap((inside) => [...hierarchy.nodes.get(inside)!.ops]);
  return ops.sort((a, b) => a - b);
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

/** The box that stands for a node while only these groups are open: itself, or the closed group around it. */
export function shownAs(hierarchy: Hierarchy, key: string, open: ReadonlySet<string>): string {
  const node = hierarchy.nodes.get(key);
  let shown = node?.host ?? key;
  for (let at = hierarchy.nodes.get(shown)?.parent ?? null; at !== null; ) {
    if (at !== hierarchy.root && !open.has(at)) shown = at;
    at = hierarchy.nodes.get(at)?.parent ?? null;
  }
  return shown;
}

/** An edge between two boxes that are on screen, and the edges between ops that it stands for. */
export interface LiftedEdge {
  readonly from: string;
  readonly to: string;
  readonly edges: readonly number[];
}

/** The edges that carry tensors between the boxes on screen while these groups are open. */
export function lifted(hierarchy: Hierarchy, open: ReadonlySet<string>): LiftedEdge[] {
  const shown = new Map<string, string>();
  const lift = (key: string): string => {
    const known = shown.get(key);
    if (known !== undefined) return known;
    const found = shownAs(hierarchy, key, open);
    shown.set(key, found);
    return found;
  };
  const found = new Map<string, { from: string; to: string; edges: number[] }>();
  for (const [index, edge] of hierarchy.edges.entries()) {
    if (edge.kind === "condition") continue;
    const [from, to] = [lift(edge.from), lift(edge.to)];
    // What happens inside a closed group stays there; a loop of an op on itself is drawn.
    if (from === to && (edge.from !== edge.to || from !== edge.from)) continue;
    const name = `${from} ${to}`;
    const known = found.get(name);
    if (known === undefined) found.set(name, { from, to, edges: [index] });
    else known.edges.push(index);
  }
  return [...found.values()];
}

// --- In which passes an edge of the rolled form is there, and as which argument, in the words of the static
//   pictures.

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
  const names = to.kind === "op" ? unique(uses.map((use) => use.name)) : [];
  // A stretch of ops is the call of nothing, and has no passes.
  if (tree.form === "unrolled" || numTurns(from) === 0 || numTurns(to) === 0) return joined([names.join(", ")]);
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
  return joined([names.join(", "), joined(passes, ", ")]);
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
  if (!isCrossed || unique(uses.map((use) => use.name)).length < 2) return "";
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

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== "");
}

function joined(parts: readonly string[], by = " · "): string {
  return parts.filter((part) => part !== "").join(by);
}

// --- Edges between op nodes: the tensors that they hand on, and what their values decided.

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
