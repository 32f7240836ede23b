/** Switch between the rolled and the unrolled form and keep what is open. (The session keeps what is selected.) */
import { batch } from "@preact/signals";
import * as store from "../store";
import type { Hierarchy } from "./model";

/** The nodes of another form that stand for a node: of a rolled one there can be many. */
export function counterparts(from: Hierarchy, to: Hierarchy, key: string): string[] {
  const node = from.nodes.get(key);
  if (node === undefined) return [];
  const keys = node.kind === "op" ? node.ops.map((op) => to.nodeOfOp[op]) : node.scopes.map((call) => to.nodeOfScope[call]);
  const found = keys.filter((one) => one !== undefined && one !== null);
  return [...new Set(found)];
}

export function switchForm(): void {
  const before = store.hierarchy.peek();
  batch(() => {
    store.form.value = store.form.peek() === "rolled" ? "unrolled" : "rolled";
    const after = store.hierarchy.value;
    if (before === null || after === null) return;
    const open = [...store.openGroups.peek()].flatMap((key) => counterparts(before, after, key));
    store.openGroups.value = new Set(open.filter((key) => after.nodes.get(key)?.kind === "group"));
  });
}
