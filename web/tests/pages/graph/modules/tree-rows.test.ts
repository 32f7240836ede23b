import { expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/model";
import { parentRow, rowOf, treeRows } from "../../../../src/pages/graph/modules/ModulesPanel";
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
const keys = (open: string[]): string[] => treeRows(tree, new Set(open)).map(({ node }) => node.key);

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

test("the row around a row is the nearest above of a lower level", () => {
  const rows = treeRows(tree, new Set([block]));
  expect(parentRow(rows, 3)).toBe(1);
  expect(parentRow(rows, 4)).toBe(0);
  expect(parentRow(rows, 0)).toBe(0);
});
