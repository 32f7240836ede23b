/** Open passes: the first one that there is, then whichever is chosen. */
import { effect } from "@preact/signals";
import type { GraphNode, Hierarchy } from "./graph/model";
import * as store from "./store";
import type { PassListing, Source } from "./source/source";

/** Begin to show what a source has. */
export function startSession(source: Source): void {
  store.source.value = source;
  effect(() => {
    const passes = source.passes.value;
    const isUp = ["connected", "one-file"].includes(source.connection.value.state);
    if (store.passId.peek() !== null) return;
    const first = passes[0];
    if (first !== undefined) void openPass(first);
    else if (isUp) store.opening.value = { state: "empty" };
  });
}

/** What was selected stays selected when the nodes change, in the rolled form and back. */
export function keepSelection(): void {
  let before: Hierarchy | null = null;
  effect(() => {
    const now = store.hierarchy.value;
    const old = before;
    before = now;
    const key = store.selected.peek();
    if (now === null || old === null || key === null || now.form === old.form) return;
    store.select(sameIn(now, old.nodes.get(key)));
  });
}

/** The node that stands for the same op or module in another tree. */
function sameIn(hierarchy: Hierarchy, node: GraphNode | undefined): string | null {
  if (node === undefined) return null;
  const op = node.ops[0];
  if (op !== undefined) return hierarchy.nodeOfOp[op] ?? null;
  return hierarchy.nodeOfScope[node.scope] ?? null;
}

export async function openPass(pass: PassListing): Promise<void> {
  const source = store.source.peek();
  if (source === null) return;
  const before = store.passId.peek();
  store.passId.value = pass.id;
  store.opening.value = { state: "loading", name: pass.name, since: Date.now() };
  try {
    const { document, seed } = await source.openPass(pass.id);
    if (store.passId.peek() !== pass.id) return;
    store.showPass(document, seed);
  } catch (reason) {
    if (store.passId.peek() !== pass.id) return;
    // What was shown before stays: its document is still there.
    if (store.document.peek() === null) store.passId.value = pass.id;
    else store.passId.value = before;
    const message = reason instanceof Error ? reason.message : String(reason);
    store.opening.value = { state: "failed", name: pass.name, reason: message };
  }
}

/** Forget the attempt that failed and, where there is one, go on with the pass shown before. */
export function dismissFailure(): void {
  if (store.document.peek() !== null) store.opening.value = { state: "shown" };
}
