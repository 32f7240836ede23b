/** Build the tree of a pass: which ops and module calls are boxes, what is inside what, what is a chip. */
import type { OpEntry, PassDocument } from "../../wire";
import { groupBy, obtain } from "../collections";
import { formatShape } from "../format";
import { linkNodes } from "./edges";
import { type Chip, type Form, GraphNode, type Hierarchy } from "./model";
import { callName, groupSubtitle, marksOf, opLabel, opSubtitle, opTitle, timesText } from "./node-words";

/** Build the tree of a pass: every op by itself, or one node for all passes of a layer. */
export function buildHierarchy(document: PassDocument, form: Form): Hierarchy {
  return new TreeBuilder(document, form).build();
}

class TreeBuilder {
  private readonly nodes = new Map<string, GraphNode>();
  private readonly roles: OpRole[];
  private readonly scopeOf: readonly number[];
  private readonly nodeOfOp: string[];
  private readonly nodeOfScope: (string | null)[];
  /** Members of each merged scope, in order: negative numbers are scopes (-1 - scope), others layers' first ops. */
  private readonly members: number[][];
  private readonly opsOfNode = new Map<number, number[]>();
  private readonly callsOfScope: ReadonlyMap<number, number[]>;

  constructor(
    private readonly document: PassDocument,
    private readonly form: Form,
  ) {
    this.roles = opRoles(document.ops);
    this.scopeOf = mergedScopes(document, form);
    this.callsOfScope = groupBy(this.scopeOf.keys(), (scope) => this.scopeOf[scope]!);
    this.nodeOfOp = new Array<string>(document.ops.length).fill("");
    this.nodeOfScope = new Array<string | null>(document.scopes.length).fill(null);
    this.members = document.scopes.map(() => []);
    if (this.members.length === 0) this.members.push([]);
  }

  build(): Hierarchy {
    this.gather();
    const root = this.addRoot();
    this.addChips();
    gatherEnds(this.nodes, root);
    splitIntoStretches(this.nodes);
    this.setDepths(root);
    this.markFailure();
    sumFigures(this.document, this.nodes, this.nodes.get(root)!);
    for (const node of this.nodes.values()) if (node.host !== null) sumFigures(this.document, this.nodes, node);
    for (const [scope, rep] of this.scopeOf.entries()) this.nodeOfScope[scope] = this.nodeOfScope[rep] ?? null;
    return {
      form: this.form,
      document: this.document,
      root,
      nodes: this.nodes,
      nodeOfOp: this.nodeOfOp,
      nodeOfScope: this.nodeOfScope,
      ...linkNodes(this.document, this.nodes, this.nodeOfOp),
    };
  }

  /** Put every op that is drawn as a box into its scope, and scopes into theirs, in the order they ran. */
  private gather(): void {
    const firstOfLayer = new Map<number, number>();
    const placed = new Uint8Array(this.members.length);
    placed[0] = 1;
    for (const [index, op] of this.document.ops.entries()) {
      if (this.roles[index] !== "box") continue;
      const first = this.form === "rolled" ? obtain(firstOfLayer, op.layer, () => index) : index;
      obtain(this.opsOfNode, first, () => []).push(index);
      this.nodeOfOp[index] = `o${first}`;
      if (first !== index) continue;
      let scope = this.scopeOf[op.scope] ?? 0;
      this.members[scope]!.push(index);
      while (placed[scope] === 0) {
        placed[scope] = 1;
        const parent = this.scopeOf[this.document.scopes[scope]!.parent] ?? 0;
        this.members[parent]!.push(-1 - scope);
        scope = parent;
      }
    }
  }

  private addRoot(): string {
    const scope = this.document.scopes[0];
    const node = this.group(0, this.document.model_name, scope?.name ?? this.document.model_name, null);
    node.children = this.childrenOf(0, node.key, "");
    return node.key;
  }

  /** `around` is the address of the nearest module around the scope: a function has none of its own. */
  private childrenOf(scope: number, parent: string, around: string): string[] {
    const address = this.document.scopes[scope]?.address ?? around;
    return this.members[scope]!.map((member) =>
      member >= 0 ? this.addOp(member, parent, []) : this.addScope(-1 - member, parent, address),
    );
  }

  /** A module that holds just one op is that op's node; any other is a group. */
  private addScope(scope: number, parent: string, around: string): string {
    const inside = [scope];
    for (;;) {
      const members = this.members[inside.at(-1)!]!;
      if (members.length !== 1) break;
      if (members[0]! >= 0) {
        const key = this.addOp(members[0]!, parent, inside, around);
        for (const folded of inside) this.nodeOfScope[folded] = key;
        return key;
      }
      inside.push(-1 - members[0]!);
    }
    const entry = this.document.scopes[scope]!;
    const node = this.group(scope, this.relativeName(scope, around), entry.name, parent);
    node.children = this.childrenOf(scope, node.key, around);
    return node.key;
  }

  /** The address without that of the module around it. */
  private relativeName(scope: number, around: string): string {
    const name = callName(this.document.scopes[scope]!, this.form === "unrolled");
    return around !== "" && name.startsWith(`${around}.`) ? name.slice(around.length + 1) : name;
  }

  private group(scope: number, title: string, className: string, parent: string | null): GraphNode {
    const calls = this.callsOfScope.get(scope) ?? [];
    const [first] = this.members[scope]!;
    const node = new GraphNode({
      key: `s${scope}`,
      kind: "group",
      parent,
      scopes: calls,
      scope: calls.length === 0 ? -1 : scope,
      title,
      label: title,
      className,
      subtitle: groupSubtitle(this.document.scopes[scope], className),
      times: timesText(calls),
      opKind: "group",
      type: className,
      order: first === undefined ? 0 : this.firstOp(first),
    });
    this.nodes.set(node.key, node);
    this.nodeOfScope[scope] = node.key;
    return node;
  }

  private firstOp(member: number): number {
    let at = member;
    while (at < 0) at = this.members[-1 - at]![0]!;
    return at;
  }

  /** `folded` are the calls, from the outside in, that hold nothing but this op. */
  private addOp(index: number, parent: string, folded: readonly number[], around = ""): string {
    const op = this.document.ops[index]!;
    const ops = this.opsOfNode.get(index)!;
    const isModule = (scope: number): boolean => this.document.scopes[scope]!.address !== null;
    const inner = folded.findLast(isModule) ?? folded.at(-1);
    const className = inner !== undefined && isModule(inner) ? this.document.scopes[inner]!.name : "";
    const name = inner === undefined ? null : this.relativeName(inner, around);
    return this.addOpNode(index, className, name ?? opTitle(op), name ?? opLabel(op, ops.length), {
      parent,
      ops,
      scopes: folded.flatMap((scope) => this.callsOfScope.get(scope) ?? []),
      times: timesText(ops),
      marks: marksOf(ops.map((one) => this.document.ops[one]!)),
      chips: paramChips(op, this.document),
    });
  }

  private addOpNode(index: number, className: string, title: string, label: string, given: Partial<GraphNode>): string {
    const op = this.document.ops[index]!;
    const key = `o${index}`;
    const subtitle = opSubtitle(op, className, this.document);
    const { scope, kind: opKind, type } = op;
    this.nodes.set(key, new GraphNode({ key, kind: "op", parent: null, scope, title, label, className, subtitle, opKind, type, order: index, ...given }));
    return key;
  }

  /** Buffers and tensors from outside stand beside each op that reads them. */
  private addChips(): void {
    const { ops } = this.document;
    for (const [index, op] of ops.entries()) {
      if (this.roles[index] !== "box") continue;
      for (const [parent] of op.parents) {
        if (parent >= 0 && this.roles[parent] !== "box") this.addChip(parent, this.nodeOfOp[index]!, true);
      }
    }
    for (const [index, role] of this.roles.entries()) {
      if (role !== "box" && this.nodeOfOp[index] === "") this.addChip(index, this.nearestBox(index), false);
    }
  }

  private addChip(index: number, host: string, isRead: boolean): void {
    const op = this.document.ops[index]!;
    const box = this.nodes.get(host)!;
    const key = this.nodeOfOp[index] === "" ? `o${index}` : this.nodeOfOp[index]!;
    const text = chipText(op);
    if (!box.chips.some((chip) => chip.text === text || chip.key === key)) {
      box.chips.push({ kind: this.roles[index] === "source" ? "source" : "buffer", text, key, isRead });
    }
    if (this.nodes.has(key)) return;
    this.nodeOfOp[index] = key;
    this.addOpNode(index, "", text, text, { parent: box.parent, host, ops: [index], marks: marksOf([op]) });
  }

  /** The box that a chip without readers stands beside: the next one in the same call, else the nearest. */
  private nearestBox(index: number): string {
    const after = this.roles.indexOf("box", index + 1);
    const before = this.roles.lastIndexOf("box", index - 1);
    const scope = this.document.ops[index]!.scope;
    const nearest = [after, before].filter((other) => other >= 0 && other !== index);
    const inside = nearest.find((other) => this.isWithin(this.document.ops[other]!.scope, scope));
    return this.nodeOfOp[inside ?? nearest[0]!]!;
  }

  private isWithin(inner: number, outer: number): boolean {
    let at = inner;
    while (at > outer) at = this.document.scopes[at]!.parent;
    return at === outer;
  }

  /** A pass that raised ends in the op before the one that did. */
  private markFailure(): void {
    const last = this.roles.lastIndexOf("box");
    if (this.document.error !== "" && last >= 0) this.nodes.get(this.nodeOfOp[last]!)!.isFailed = true;
  }

  private setDepths(root: string): void {
    const waiting = [root];
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
      const node = this.nodes.get(key)!;
      for (const child of node.children) {
        this.nodes.get(child)!.depth = node.depth + 1;
        waiting.push(child);
      }
    }
    for (const node of this.nodes.values()) {
      if (node.host === null) continue;
      const host = this.nodes.get(node.host)!;
      [node.depth, node.parent] = [host.depth, host.parent];
    }
  }
}

function paramChips(op: OpEntry, document: PassDocument): Chip[] {
  const shapes = op.params.map((param) => formatShape(document.params[param]?.shape ?? []));
  if (shapes.length === 0) return [];
  const rest = shapes.length > 2 ? ` +${shapes.length - 2}` : "";
  return [{ kind: "param", text: shapes.slice(0, 2).join(" · ") + rest, key: null, isRead: true }];
}

function chipText(op: OpEntry): string {
  if (op.kind === "op") return op.label;
  const name = op.name === "" ? op.label : op.name;
  const parts = name.split(".");
  return op.kind === "buffer" ? parts.at(-1)! : name;
}

/** `upkeep` is an op that only keeps a buffer up to date, such as counting the batches of a batch norm. */
type OpRole = "box" | "buffer" | "source" | "upkeep";

function opRoles(ops: readonly OpEntry[]): OpRole[] {
  const isUpkeep = upkeep(ops);
  const roles = ops.map((op, index): OpRole => {
    if (op.kind === "buffer" || op.kind === "source") return op.kind;
    return isUpkeep[index] === 1 ? "upkeep" : "box";
  });
  // With nothing to stand beside, chips are boxes.
  return roles.includes("box") ? roles : roles.map(() => "box");
}

/** Ops that read buffers only and whose result no other op reads. */
function upkeep(ops: readonly OpEntry[]): Uint8Array {
  const found = new Uint8Array(ops.length);
  for (const [index, op] of ops.entries()) {
    if (op.kind !== "op" || op.params.length > 0 || op.parents.length === 0) continue;
    const readsBuffersOnly = op.parents.every(([parent]) => ops[parent]?.kind === "buffer" || found[parent] === 1);
    if (readsBuffersOnly) found[index] = 1;
  }
  // What an ordinary op reads is ordinary, and so is all that leads to it: nothing is read before it was made.
  for (let index = ops.length - 1; index >= 0; index -= 1) {
    if (found[index] === 1) continue;
    for (const [parent] of ops[index]!.parents) if (parent >= 0) found[parent] = 0;
  }
  return found;
}

/**
 * For each scope the first scope that it is drawn as: itself, or in the rolled form the first call of the same
 * module that ran the same layers. Calls that ran other layers (one ReLU module used at two places) stay apart.
 */
function mergedScopes(document: PassDocument, form: Form): number[] {
  const { scopes, ops } = document;
  const merged = scopes.map((_, index) => index);
  if (form === "unrolled") return merged;
  const find = (scope: number): number => {
    let at = scope;
    while (merged[at] !== at) {
      merged[at] = merged[merged[at]!]!;
      at = merged[at]!;
    }
    return at;
  };
  const firstOfLayer = new Map<number, number>();
  for (const [index, op] of ops.entries()) {
    const first = firstOfLayer.get(op.layer);
    if (first === undefined) {
      firstOfLayer.set(op.layer, index);
      continue;
    }
    // From the inside out, for as long as both ran in calls of the same thing.
    let [one, other] = [ops[first]!.scope, op.scope];
    while (one > 0 && other > 0 && isSameThing(document, one, other)) {
      const [low, high] = [find(one), find(other)].sort((a, b) => a - b);
      merged[high!] = low!;
      one = scopes[one]!.parent;
      other = scopes[other]!.parent;
    }
  }
  return merged.map((_, index) => find(index));
}

function isSameThing(document: PassDocument, one: number, other: number): boolean {
  const [a, b] = [document.scopes[one]!, document.scopes[other]!];
  return a.address === b.address && a.name === b.name;
}

// --- Groups of very many children are split into stretches, so that none is too long to lay out or to read.

const MOST_CHILDREN = 400;

/** A group that is the call of no module. */
function groupOf(key: string, parent: string, title: string, subtitle: string, children: string[], order: number): GraphNode {
  const nothing = { scope: -1, type: "", kind: "group", opKind: "group" } as const;
  return new GraphNode({ key, parent, title, label: title, subtitle, order, children, ...nothing });
}

/** More inputs or outputs of the model than this stand in a group of their own. */
const MOST_ENDS = 5;

/** A model that returns many tensors (a cache, say) would be a long row of boxes: they become one group. */
function gatherEnds(nodes: Map<string, GraphNode>, root: string): void {
  const model = nodes.get(root)!;
  for (const kind of ["input", "output"] as const) {
    const ends = model.children.filter((key) => nodes.get(key)!.opKind === kind);
    if (ends.length <= MOST_ENDS) continue;
    const key = `${root}.${kind}s`;
    nodes.set(key, groupOf(key, root, `${kind}s`, "of the model", ends, nodes.get(ends[0]!)!.order));
    for (const end of ends) nodes.get(end)!.parent = key;
    const rest = model.children.filter((child) => nodes.get(child)!.parent !== key);
    model.children = kind === "input" ? [key, ...rest] : [...rest, key];
  }
}

/** Put the children of each overlong group into groups of their own, in order. */
function splitIntoStretches(nodes: Map<string, GraphNode>): void {
  for (const node of [...nodes.values()]) {
    let level = 0;
    while (node.children.length > MOST_CHILDREN) {
      node.children = stretchesOf(node, level, nodes);
      level += 1;
    }
  }
}

function stretchesOf(node: GraphNode, level: number, nodes: Map<string, GraphNode>): string[] {
  const { children } = node;
  const numStretches = Math.ceil(children.length / (MOST_CHILDREN / 4));
  const size = Math.ceil(children.length / numStretches);
  const keys: string[] = [];
  for (let start = 0; start < children.length; start += size) {
    const inside = children.slice(start, start + size);
    const key = `${node.key}.${level}.${start}`;
    const [first, last] = [nodes.get(inside[0]!)!, nodes.get(inside.at(-1)!)!];
    const next = nodes.get(children[start + size] ?? "");
    const title = next === undefined ? `ops from ${first.order + 1}` : `ops ${first.order + 1}–${next.order}`;
    nodes.set(key, groupOf(key, node.key, title, `${first.label} … ${last.label}`, inside, first.order));
    for (const child of inside) nodes.get(child)!.parent = key;
    keys.push(key);
  }
  return keys;
}

/** Sum up a node from the inside out. Returns the parameters used inside, so that shared ones count once. */
function sumFigures(document: PassDocument, nodes: ReadonlyMap<string, GraphNode>, node: GraphNode): Set<number> {
  const params = new Set<number>();
  for (const index of node.ops) {
    const op = document.ops[index]!;
    for (const param of op.params) params.add(param);
    addFigures(node, op.seconds, op.backward_seconds, op.num_bytes, op.flops, 1);
    node.hasGradient ||= hasGradient(document, op);
  }
  for (const key of node.children) {
    const child = nodes.get(key)!;
    for (const param of sumFigures(document, nodes, child)) params.add(param);
    addFigures(node, child.seconds, child.backwardSeconds, child.numBytes, child.flops, child.numOps);
    node.hasGradient ||= child.hasGradient;
    node.isFailed ||= child.isFailed;
  }
  node.numParams = numElements(document, params);
  return params;
}

function addFigures(node: GraphNode, seconds: number, backward: number | null, bytes: number, flops: number | null, ops: number): void {
  node.seconds += seconds;
  node.numBytes += bytes;
  node.numOps += ops;
  if (backward !== null) node.backwardSeconds = (node.backwardSeconds ?? 0) + backward;
  if (flops !== null) node.flops = (node.flops ?? 0) + flops;
}

/** Before any backward pass, what could have a gradient counts as having one. */
function hasGradient(document: PassDocument, op: OpEntry): boolean {
  if (op.has_grad || op.backward_seconds !== null) return true;
  return document.num_backward_passes === 0 && op.requires_grad;
}

function numElements(document: PassDocument, params: ReadonlySet<number>): number {
  let sum = 0;
  for (const param of params) sum += (document.params[param]?.shape ?? []).reduce((product, size) => product * size, 1);
  return sum;
}
