/** Which calls of modules are one box in the rolled form. */
import type { PassDocument } from "../wire";
import type { Form } from "./model";

/**
 * For each scope the first scope that it is drawn as: itself, or in the rolled form the first call of the same
 * module that ran the same layers. Calls that ran other layers (one ReLU module used at two places) stay apart.
 */
export function mergedScopes(document: PassDocument, form: Form): number[] {
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
