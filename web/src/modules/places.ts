/** What to call a node where its surroundings are not seen: its address, or its label. */
import type { GraphNode } from "../graph/model";
import type { PassDocument, ScopeEntry } from "../wire";

/** `layer2.0.conv2`, `relu_1_7`; with the call where a module ran more than once: `rnn:2`. */
export function placeOf(node: GraphNode, document: PassDocument): string {
  // A stretch of a large module says which part it is.
  if (node.kind === "group" && node.key.includes(".")) return node.title;
  const scope = document.scopes[node.scopes[0] ?? -1];
  if (scope !== undefined) return placeOfCall(node, scope, document.model_name);
  const op = document.ops[node.ops[0] ?? -1];
  if (op === undefined) return node.title;
  if (op.name !== "") return op.name;
  return node.ops.length > 1 ? op.label.replace(/:\d+$/, "") : op.label;
}

function placeOfCall(node: GraphNode, scope: ScopeEntry, modelName: string): string {
  const place = scope.address === null ? node.title : scope.address || modelName;
  return scope.num_passes > 1 && node.scopes.length === 1 ? `${place}:${scope.pass_num}` : place;
}
