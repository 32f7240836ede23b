import { expect, test } from "vitest";
import { walked } from "../../../src/pages/learn/graph/LessonGraph";
import { cardSize, gridSize, isPicture, layOut } from "../../../src/pages/learn/graph/layout";
import { fitted } from "../../../src/ui/pan-zoom";
import type { LearnNode } from "../../../src/wire";
import { cells, nodeWith, productLesson } from "./samples";

function overlaps(nodes: readonly LearnNode[]): string[] {
  const { boxes } = layOut({ nodes: [...nodes] });
  const found: string[] = [];
  for (const [at, one] of boxes.entries()) {
    for (const [other, box] of boxes.slice(0, at).entries()) {
      const across = one.x < box.x + box.width && box.x < one.x + one.width;
      if (across && one.y < box.y + box.height && box.y < one.y + one.height) found.push(`${other} ${at}`);
    }
  }
  return found;
}

/** Ops that read two of those before, with some inputs among them. */
function manyNodes(count: number): LearnNode[] {
  return Array.from({ length: count }, (_, id) => {
    if (id < 3 || id % 5 === 0) return nodeWith(id, `p${id}`, { kind: "parameter", value: cells([3, 4], new Array<number>(12).fill(1)) });
    return nodeWith(id, `op_${id}`, { parents: [id - 1, Math.floor(id / 2)], value: cells([id % 7 + 1], new Array<number>(id % 7 + 1).fill(1)) });
  });
}

test("inputs stand above what reads them, and the loss below all", () => {
  const { nodes } = productLesson();
  const { boxes, bounds } = layOut({ nodes });
  for (const { id, parents } of nodes) for (const parent of parents) expect(boxes[parent]!.y + boxes[parent]!.height).toBeLessThan(boxes[id]!.y);
  expect(boxes[0]!.x).toBeLessThan(boxes[1]!.x);
  expect(boxes[3]!.y + boxes[3]!.height).toBeLessThan(bounds.y + bounds.height);
});

test("the longest way is a straight line", () => {
  const nodes = manyNodes(12).map((node) => (node.kind === "op" ? { ...node, parents: [node.id - 1] } : node));
  const chain = [nodeWith(0, "x", { kind: "input" }), ...[1, 2, 3, 4].map((id) => nodeWith(id, `a${id}`, { parents: [id - 1] }))];
  const { boxes } = layOut({ nodes: chain });
  expect(new Set([1, 2, 3, 4].map((id) => boxes[id]!.x + boxes[id]!.width / 2)).size).toBe(1);
  expect(overlaps(nodes)).toEqual([]);
});

test.each([20, 120])("of %i values no card lies on another", (count) => {
  expect(overlaps(manyNodes(count))).toEqual([]);
});

test("an input stands just above the first that reads it", () => {
  const nodes = [nodeWith(0, "x", { kind: "input" }), nodeWith(1, "b", { kind: "parameter" }), nodeWith(2, "a", { parents: [0] }), nodeWith(3, "c", { parents: [2] }), nodeWith(4, "d", { parents: [3, 1] })];
  const { boxes } = layOut({ nodes });
  expect(boxes[1]!.y).toBeGreaterThan(boxes[2]!.y + boxes[2]!.height);
  expect(boxes[1]!.y + boxes[1]!.height).toBeLessThan(boxes[4]!.y);
});

test("a value that is read twice by one op has two lines", () => {
  const nodes = [nodeWith(0, "x", { kind: "parameter" }), nodeWith(1, "s", { parents: [0, 0] })];
  const { edges } = layOut({ nodes });
  expect(edges.map(({ key }) => key)).toEqual(["0-1-0", "0-1-1"]);
  expect(new Set(edges.map(({ path }) => path)).size).toBe(2);
});

test("nothing to draw is drawn as nothing", () => {
  expect(layOut({ nodes: [] }).edges).toEqual([]);
});

test("small tensors are cells, larger ones pictures of limited size", () => {
  expect(isPicture(cells([3, 4], new Array<number>(12).fill(0)))).toBe(false);
  const large = cells([16, 16], new Array<number>(256).fill(0));
  expect(isPicture(large)).toBe(true);
  expect(gridSize(large).width).toBeLessThanOrEqual(92);
  expect(cardSize(nodeWith(0, "x", { value: cells([1, 4], [1, 2, 3, 4]) })).width % 2).toBe(0);
});

test("all of it is fitted, never larger than life", () => {
  const margin = { side: 16, top: 16, bottom: 16 };
  expect(fitted({ x: 0, y: 0, width: 100, height: 100 }, { width: 800, height: 600 }, margin).scale).toBe(1);
  expect(fitted({ x: 0, y: 0, width: 1000, height: 1136 }, { width: 800, height: 600 }, margin).scale).toBe(0.5);
});

test("the arrow keys go along the edges and to neighbours", () => {
  const { nodes } = productLesson();
  const layout = layOut({ nodes });
  expect(walked(nodes, layout, 3, "ArrowUp")).toBe(2);
  expect(walked(nodes, layout, 2, "ArrowDown")).toBe(3);
  expect(walked(nodes, layout, 0, "ArrowRight")).toBe(1);
  expect(walked(nodes, layout, 1, "ArrowRight")).toBeNull();
  expect(walked(nodes, layout, 3, "ArrowDown")).toBeNull();
});
