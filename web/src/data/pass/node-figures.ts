/** The figures of nodes: of an op over its passes, of a group over all that is in it. */
import type { OpEntry, PassDocument } from "../../wire";
import type { GraphNode } from "./model";

/** Sum up every node, from the inside out. */
export function sumFigures(document: PassDocument, nodes: ReadonlyMap<string, GraphNode>, root: string): void {
  for (const node of nodes.values()) if (node.kind === "op") sumOps(document, node);
  sumInside(document, nodes, nodes.get(root)!);
}

function sumOps(document: PassDocument, node: GraphNode): void {
  const params = new Set<number>();
  for (const index of node.ops) {
    const op = document.ops[index]!;
    node.seconds += op.seconds;
    node.numBytes += op.num_bytes;
    if (op.backward_seconds !== null) node.backwardSeconds = (node.backwardSeconds ?? 0) + op.backward_seconds;
    if (op.flops !== null) node.flops = (node.flops ?? 0) + op.flops;
    node.hasGradient ||= hasGradient(document, op);
    for (const param of op.params) params.add(param);
    node.numOps += 1;
  }
  node.numParams = numElements(document, params);
}

/** Before any backward pass, what could have a gradient counts as having one. */
function hasGradient(document: PassDocument, op: OpEntry): boolean {
  if (op.has_grad || op.backward_seconds !== null) return true;
  return document.num_backward_passes === 0 && op.requires_grad;
}

/** Returns the parameters used inside, so that shared ones count once. */
function sumInside(document: PassDocument, nodes: ReadonlyMap<string, GraphNode>, node: GraphNode): Set<number> {
  const params = new Set<number>();
  for (const index of node.ops) for (const param of document.ops[index]!.params) params.add(param);
  for (const key of node.children) {
    const child = nodes.get(key)!;
    for (const param of sumInside(document, nodes, child)) params.add(param);
    node.seconds += child.seconds;
    node.numBytes += child.numBytes;
    if (child.backwardSeconds !== null) node.backwardSeconds = (node.backwardSeconds ?? 0) + child.backwardSeconds;
    if (child.flops !== null) node.flops = (node.flops ?? 0) + child.flops;
    node.hasGradient ||= child.hasGradient;
    node.isFailed ||= child.isFailed;
    node.numOps += child.numOps;
  }
  if (node.kind === "group") node.numParams = numElements(document, params);
  return params;
}

function numElements(document: PassDocument, params: ReadonlySet<number>): number {
  let sum = 0;
  for (const param of params) sum += (document.params[param]?.shape ?? []).reduce((product, size) => product * size, 1);
  return sum;
}
