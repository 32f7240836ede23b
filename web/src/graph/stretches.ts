/** Groups of very many children are split into stretches, so that none is too long to lay out or to read. */
import type { GraphNode } from "./model";

export const MOST_CHILDREN = 400;

/** Such a group is the call of no module. */
const NO_CALL = { scopes: [], scope: -1, className: "", type: "", times: "", marks: [], chips: [] };

/** More inputs or outputs of the model than this stand in a group of their own. */
const MOST_ENDS = 5;

/** A model that returns many tensors (a cache, say) would be a long row of boxes: they become one group. */
export function gatherEnds(nodes: Map<string, GraphNode>, root: string): void {
  const model = nodes.get(root)!;
  for (const kind of ["input", "output"] as const) {
    const ends = model.children.filter((key) => nodes.get(key)!.opKind === kind);
    if (ends.length <= MOST_ENDS) continue;
    const key = `${root}.${kind}s`;
    const first = nodes.get(ends[0]!)!;
    const group = { ...model, key, parent: root, ...NO_CALL };
    nodes.set(key, { ...group, title: `${kind}s`, label: `${kind}s`, subtitle: "of the model", order: first.order, children: ends });
    for (const end of ends) nodes.get(end)!.parent = key;
    const rest = model.children.filter((child) => nodes.get(child)!.parent !== key);
    model.children = kind === "input" ? [key, ...rest] : [...rest, key];
  }
}

/** Put the children of each overlong group into groups of their own, in order. */
export function splitIntoStretches(nodes: Map<string, GraphNode>): void {
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
    nodes.set(key, {
      ...node,
      key,
      parent: node.key,
      ...NO_CALL,
      title,
      label: title,
      subtitle: `${first.label} … ${last.label}`,
      order: first.order,
      children: inside,
    });
    for (const child of inside) nodes.get(child)!.parent = key;
    keys.push(key);
  }
  return keys;
}
