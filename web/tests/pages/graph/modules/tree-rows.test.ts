import { expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { rowOf, treeRows } from "../../../../src/pages/graph/modules/ModulesPanel";
import { documentWith, opWith, scopeWith } from "../../../samples";

/** Net → block (two relus), then one relu of its own. */
const document = documentWith({
  ops: [
    opWith({ label: "relu_1_0", layer: 0, scope: 1 }),
    opWith({ label: "relu_2_1", layer: 1, scope: 1, parents: [[0, "0"]] }),
    opWith({ label: "relu_3_2", layer: 2, scope: 0, parents: [[1, "0"]] }),
  ],
  scopes: [
    scopeWith({ num_ops: 3, outputs: [2] }),
    scopeWith({ parent: 0, address: "block", name: "Block", num_ops: 2, outputs: [1] }),
  ],
});
const tree = buildHierarchy(document, "unrolled");
const block = tree.nodeOfScope[1]!;
const keys = (open: string[]): string[] => treeRows(tree, new Set(open)).map(({ key }) => key);

test("the model is open, modules open one by one", () => {
  expect(keys([])).toEqual([tree.root, block, tree.nodeOfOp[2]]);
  expect(keys([block])).toEqual([tree.root, block, tree.nodeOfOp[0], tree.nodeOfOp[1], tree.nodeOfOp[2]]);
});

test("a node inside something closed is found at what it is inside of", () => {
  const closed = treeRows(tree, new Set());
  expect(rowOf(closed, tree, tree.nodeOfOp[1]!)).toBe(1);
  expect(rowOf(treeRows(tree, new Set([block])), tree, tree.nodeOfOp[1]!)).toBe(3);
  expect(rowOf(closed, tree, null)).toBe(-1);
  expect(rowOf(closed, tree, "o999")).toBe(-1);
});

test("the row around a row is that of its module", () => {
  const rows = treeRows(tree, new Set([block]));
  expect(rowOf(rows, tree, rows[3]!.parent)).toBe(1);
  expect(rowOf(rows, tree, rows[4]!.parent)).toBe(0);
  expect(rowOf(rows, tree, rows[0]!.parent)).toBe(-1);
});
