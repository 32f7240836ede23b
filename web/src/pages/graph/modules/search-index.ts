/** Find modules and ops by what people call them: label, address, class, function, shape. */
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import type { PassDocument } from "../../../wire";

/** Everything by which a node can be found, in lower case, shapes written in each usual way. */
export function searchText(node: GraphNode, document: PassDocument): string {
  const parts = [node.title, node.className, node.type];
  const scopes = node.scopes.length > 0 ? node.scopes : [node.scope];
  for (const index of scopes) {
    const scope = document.scopes[index];
    // The call's own place tells passes apart: `rnn:2`.
    if (scope !== undefined)
      parts.push(scope.address ?? "", `${scope.address ?? scope.name}:${scope.pass_num}`);
  }
  for (const index of node.ops) {
    const op = document.ops[index]!;
    parts.push(op.label, op.type, op.function, op.name, op.dtype, ...shapeTexts(op.shape));
    for (const param of op.params) {
      const entry = document.params[param];
      if (entry !== undefined) parts.push(entry.address, ...shapeTexts(entry.shape));
    }
  }
  return parts.join("\n").toLowerCase();
}

function shapeTexts(shape: readonly number[]): string[] {
  return [shape.join("×"), shape.join("x"), shape.join(", "), shape.join(",")];
}

/** All nodes, in the order they ran, with the text they are found by. Made once for each tree. */
export class SearchIndex {
  readonly #entries: { key: string; text: string }[] = [];

  constructor(hierarchy: Hierarchy, document: PassDocument) {
    const visit = (key: string): void => {
      const node = hierarchy.nodes.get(key);
      if (node === undefined) return;
      if (key !== hierarchy.root) this.#entries.push({ key, text: searchText(node, document) });
      for (const child of node.children) visit(child);
    };
    visit(hierarchy.root);
    const listed = new Set(this.#entries.map(({ key }) => key));
    // Buffers and tensors from outside hang on other nodes and stand in nobody's list of children.
    for (const node of hierarchy.nodes.values()) {
      if (node.host !== null && !listed.has(node.key)) {
        this.#entries.push({ key: node.key, text: searchText(node, document) });
      }
    }
  }

  /** Keys of the nodes that have every word of the query. */
  find(query: string): string[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    return this.#entries
      .filter(({ text }) => words.every((word) => text.includes(word)))
      .map(({ key }) => key);
  }
}
