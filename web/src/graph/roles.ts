/** Which ops are boxes of the drawing, and which stand as a chip beside another. */
import type { OpEntry } from "../wire";

/** `upkeep` is an op that only keeps a buffer up to date, such as counting the batches of a batch norm. */
export type OpRole = "box" | "buffer" | "source" | "upkeep";

/** The role of each op, by its index. */
export function opRoles(ops: readonly OpEntry[]): OpRole[] {
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
  for (let index = ops.length - 1; index >= 0; index -= 1) {
    if (found[index] === 1) continue;
    for (const [parent] of ops[index]!.parents) if (parent >= 0) unmark(ops, found, parent);
  }
  return found;
}

/** What an ordinary op reads is ordinary, and so is all that leads to it. */
function unmark(ops: readonly OpEntry[], found: Uint8Array, start: number): void {
  const waiting = [start];
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    if (found[index] !== 1) continue;
    found[index] = 0;
    for (const [parent] of ops[index]!.parents) if (parent >= 0) waiting.push(parent);
  }
}
