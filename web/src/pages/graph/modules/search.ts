/** Search for modules and ops by what people call them: label, address, class, function, shape. */
import { computed, effect, signal } from "@preact/signals";
import { shownKeys } from "../../../data/pass/edges";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import * as store from "../../../data/store";
import type { PassDocument } from "../../../wire";

export const query = signal("");
/** Place of the current hit in `hits`, -1 before the first step. */
export const current = signal(-1);

/** All nodes, in the order they ran, with the text they are found by; then those that hang on others as chips. */
const index = computed(() => {
  const tree = store.hierarchy.value;
  if (tree === null) return [];
  const chips = [...tree.nodes.values()].filter(({ host }) => host !== null);
  const nodes = [...shownKeys(tree, new Set(tree.nodes.keys())).map((key) => tree.nodes.get(key)!), ...chips];
  return nodes.map((node) => ({ key: node.key, text: searchText(node, tree) }));
});

/** Keys of the nodes that have every word of the query. */
export const hits = computed<readonly string[]>(() => {
  const words = wordsOf(query.value);
  if (words.length === 0) return [];
  return index.value.filter(({ text }) => words.every((word) => text.includes(word))).map(({ key }) => key);
});

export function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Everything by which a node can be found, in lower case, shapes written in each usual way. */
function searchText(node: GraphNode, { document }: Hierarchy): string {
  const parts = [node.title, node.className, node.type];
  for (const index of node.scopes.length > 0 ? node.scopes : [node.scope]) {
    const scope = document.scopes[index];
    // The call's own place tells passes apart: `rnn:2`.
    if (scope !== undefined) parts.push(scope.address ?? "", `${scope.address ?? scope.name}:${scope.pass_num}`);
  }
  for (const index of node.ops) parts.push(...opTexts(document, index));
  return parts.join("\n").toLowerCase();
}

function opTexts({ ops, params }: PassDocument, index: number): string[] {
  const { label, type, function: name, name: given, dtype, shape, params: used } = ops[index]!;
  const known = used.map((at) => params[at]).filter((param) => param !== undefined);
  const ofParams = known.flatMap((param) => [param.address, ...shapeTexts(param.shape)]);
  return [label, type, name, given, dtype, ...shapeTexts(shape), ...ofParams];
}

function shapeTexts(shape: readonly number[]): string[] {
  return ["×", "x", ", ", ","].map((sign) => shape.join(sign));
}

export function search(text: string): void {
  query.value = text;
  current.value = -1;
}

/** Go to the next hit (+1) or the one before (−1), around the ends. */
export function step(by: number): void {
  const count = hits.value.length;
  if (count === 0) return;
  const from = current.value < 0 && by < 0 ? 0 : current.value;
  goToHit((from + by + count) % count);
}

export function goToHit(at: number): void {
  const key = hits.value[at];
  if (key === undefined) return;
  current.value = at;
  store.goTo(key);
}

export function startFinding(): void {
  effect(() => {
    store.searchHits.value = new Set(hits.value);
  });
}
