/** Who reads an op's output, and which branches asked for its value. Found once for each document. */
import type { BranchEntry, PassDocument } from "../wire";

interface Relations {
  readonly children: readonly (readonly number[])[];
  readonly passes: ReadonlyMap<number, readonly number[]>;
}

const known = new WeakMap<PassDocument, Relations>();

function relationsOf(document: PassDocument): Relations {
  const before = known.get(document);
  if (before !== undefined) return before;
  const children: number[][] = document.ops.map(() => []);
  const passes = new Map<number, number[]>();
  for (const [index, op] of document.ops.entries()) {
    for (const [parent] of op.parents) {
      const list = children[parent];
      if (list !== undefined && list.at(-1) !== index) list.push(index);
    }
    const others = passes.get(op.layer);
    if (others === undefined) passes.set(op.layer, [index]);
    else others.push(index);
  }
  const found = { children, passes };
  known.set(document, found);
  return found;
}

/** Indices of the ops that were given this one's output. */
export function childrenOf(document: PassDocument, index: number): readonly number[] {
  return relationsOf(document).children[index] ?? [];
}

/** Indices of all passes of an op's layer, itself among them. */
export function passesOf(document: PassDocument, index: number): readonly number[] {
  const layer = document.ops[index]?.layer;
  return layer === undefined ? [] : (relationsOf(document).passes.get(layer) ?? []);
}

/** Where Python asked for the value of this op's output. */
export function branchesAsking(document: PassDocument, index: number): BranchEntry[] {
  return document.branches.filter((branch) => branch.op === index);
}

/** The branches after which this op ran. */
export function branchesBefore(document: PassDocument, index: number): BranchEntry[] {
  return document.branches.filter((branch) => branch.followed_by.includes(index));
}
