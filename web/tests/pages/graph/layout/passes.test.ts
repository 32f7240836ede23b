import { describe, expect, test } from "vitest";
import { groupsToDepth, shortArguments, wordsBetween } from "../../../../src/data/pass/edges";
import type { Form, Hierarchy } from "../../../../src/data/pass/model";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { Highlight, neighbour } from "../../../../src/pages/graph/drawing/highlight";
import { deepest, Scene } from "../../../../src/pages/graph/drawing/scene";
import { wordsOf } from "../../../../src/pages/graph/drawing/wires";
import { Layouter } from "../../../../src/ui/graph-layout/layout";
import { type GroupLayout, type PlacedWire, toLayoutGraph } from "../../../../src/ui/graph-layout/layout-graph";
import type { PassDocument } from "../../../../src/wire";
import { loop, type OpPart, pass } from "../../../pass-documents";

interface Drawn {
  readonly tree: Hierarchy;
  readonly scene: Scene;
  readonly layouts: readonly GroupLayout[];
  readonly wires: readonly PlacedWire[];
}

function draw(document: PassDocument, form: Form, depth = Infinity): Drawn {
  const tree = buildHierarchy(document, form);
  const { fresh, root } = new Layouter(toLayoutGraph(tree, true)).layOut(groupsToDepth(tree, Math.min(depth, deepest(tree))));
  const scene = new Scene(tree, root, new Map(fresh.map((layout) => [layout.id, layout])));
  return { tree, scene, layouts: fresh, wires: fresh.flatMap((layout) => [...layout.wires]) };
}

/** The words at the heads of all lines, as `from>to: words`. */
function headWords({ tree, scene, wires }: Drawn): string[] {
  const found = wires.flatMap((wire) => {
    const words = wire.words === null ? "" : wordsOf(scene, wire);
    const { from, to } = tree.edges[wire.edges[0]!]!;
    return words === "" ? [] : [`${from}>${to}: ${words}`];
  });
  return found.sort();
}

/** Layer 1 reads the input first and then itself; what is read in pass `from` by the op after the loop. */
function feedback(numPasses: number, from = numPasses): PassDocument {
  const ops: OpPart[] = [{ type: "input", kind: "input" }];
  for (let run = 1; run <= numPasses; run += 1) {
    ops.push({ type: "cell", layer: 1, pass_num: run, num_passes: numPasses, reads: [run - 1] });
  }
  return pass([...ops, { type: "output", kind: "output", layer: 2, reads: [from] }]);
}

describe("passes at the edges of the rolled form", () => {
  test("what is not there each time says when it is", () => {
    expect(headWords(draw(feedback(5), "rolled"))).toEqual(["o0>o1: pass 1", "o1>o1: passes 2–5", "o1>o6: from pass 5"]);
  });

  test("what is there each time says nothing, and nothing is said of every pass by itself", () => {
    const words = headWords(draw(loop(), "rolled"));
    expect(words).toEqual(["o0>o1: pass 1", "o3>o10: from pass 3", "o3>o1: passes 2–3"]);
    expect(headWords(draw(loop(), "unrolled"))).toEqual([]);
  });

  test("a closed module counts its own calls", () => {
    expect(headWords(draw(loop(), "rolled", 1))).toEqual(["o3>o10: from pass 3"]);
    // The one op of the second call only is its own first pass.
    const call = (run: number): object => ({ address: "m", name: "M", pass_num: run, num_passes: 2 });
    const document = pass(
      [
        { type: "relu", layer: 0, scope: 1, pass_num: 1, num_passes: 2 },
        { type: "relu", layer: 0, scope: 2, pass_num: 2, num_passes: 2 },
        { type: "mul", layer: 1, scope: 2, reads: [1] },
        { type: "output", kind: "output", layer: 2, reads: [2] },
      ],
      [call(1), call(2)],
    );
    expect(headWords(draw(document, "rolled", 1))).toEqual(["o2>o3: from pass 2"]);
    expect(headWords(draw(document, "rolled", 2))).toEqual(["o0>o2: from pass 2"]);
  });

  test("a long list of passes is counted", () => {
    const ops: OpPart[] = Array.from({ length: 9 }, (_, index) => ({ type: "cell", layer: 0, pass_num: index + 1, num_passes: 9 }));
    const tree = buildHierarchy(pass([...ops, { type: "stack", layer: 1, reads: [0, 2, 4, 6, 8] }]), "rolled");
    const [from, to] = [tree.nodes.get("o0")!, tree.nodes.get("o9")!];
    expect(wordsBetween(tree, tree.edges[0]!.uses, from, to)).toBe("from 5 of 9 passes");
    expect(wordsBetween(tree, tree.edges[0]!.uses.slice(0, 3), from, to)).toBe("from passes 1, 3, 5");
  });

  test("an onward edge from the pass before says so, beside what is of the same pass", () => {
    const ops: OpPart[] = [];
    for (let run = 1; run <= 3; run += 1) {
      const here = { pass_num: run, num_passes: 3 };
      ops.push({ type: "a", layer: 0, ...here });
      ops.push({ type: "b", layer: 1, reads: run === 1 ? [] : [2 * run - 4], ...here });
    }
    expect(headWords(draw(pass(ops), "rolled"))).toEqual(["o0>o1: from the pass before"]);
    for (const [index, op] of ops.entries()) if (index % 2 === 1) ops[index] = { ...op, reads: [index - 1, ...(op.reads ?? [])] };
    expect(headWords(draw(pass(ops), "rolled"))).toEqual(["o0>o1: same pass, from the pass before"]);
  });

  test("two passes of one layer as two arguments say which is which", () => {
    const twice = [1, 2].map((run): OpPart => ({ type: "enc", layer: 0, pass_num: run, num_passes: 2 }));
    const document = pass([...twice, { type: "sub", layer: 1, reads: [0, 1], argument_order_matters: true }]);
    expect(headWords(draw(document, "rolled"))).toEqual(["o0>o2: 0 from pass 1, 1 from pass 2"]);
  });

  test("passes stand in a badge, not in the subtitle", () => {
    const tree = buildHierarchy(feedback(5), "rolled");
    expect(tree.nodes.get("o1")).toMatchObject({ label: "cell_1", subtitle: "cell", times: "× 5" });
    expect(buildHierarchy(feedback(5), "unrolled").nodes.get("o1")!.times).toBe("");
  });
});

describe("arguments", () => {
  const branches = (count: number, order: readonly number[]): PassDocument => {
    const ops: OpPart[] = [{ type: "input", kind: "input" }];
    for (let branch = 0; branch < count; branch += 1) ops.push({ type: "conv2d", reads: [0] });
    const reads = order.map((branch, place): [number, string] => [branch + 1, `0.${place}`]);
    return pass([...ops, { type: "cat", reads, argument_order_matters: true }]);
  };

  test("are named where their order matters, by their place in a list", () => {
    expect(headWords(draw(branches(3, [0, 1, 2]), "unrolled"))).toEqual(["o1>o4: 0", "o2>o4: 1", "o3>o4: 2"]);
    expect(shortArguments(["0.1", "dim"])).toEqual(["0.1", "dim"]);
  });

  test("are not named where it does not matter, or where all come the same way", () => {
    const sum = pass([{ type: "a" }, { type: "b" }, { type: "add", reads: [0, 1] }]);
    expect(headWords(draw(sum, "unrolled"))).toEqual([]);
    const square = pass([{ type: "a" }, { type: "sub", reads: [0, 0], argument_order_matters: true }]);
    expect(headWords(draw(square, "unrolled"))).toEqual([]);
  });

  test("arrive from left to right in their order, and so do the boxes that they come from", () => {
    for (const order of [[0, 1, 2, 3], [3, 1, 0, 2]]) {
      const { scene, wires, tree } = draw(branches(4, order), "unrolled");
      const into = order.map((branch) => wires.find((wire) => tree.edges[wire.edges[0]!]!.from === `o${branch + 1}`)!);
      const ends = into.map((wire) => wire.path.at(-2)!);
      expect(ends).toEqual([...ends].sort((a, b) => a - b));
      expect(new Set(ends).size).toBe(4);
      const boxes = order.map((branch) => scene.boxes.get(`o${branch + 1}`)!.x);
      expect(boxes).toEqual([...boxes].sort((a, b) => a - b));
    }
  });
});

describe("conditions", () => {
  const decided = (statement = "if", value = "True"): PassDocument => ({
    ...pass(
      [
        { type: "input", kind: "input" },
        { type: "gt", reads: [0] },
        { type: "neg", reads: [0], scope: 1 },
        { type: "relu", reads: [2], scope: 1 },
        { type: "output", kind: "output", reads: [3] },
      ],
      [{ address: "m" }],
    ),
    branches: [{ op: 1, value, statement, taken: "body", followed_by: [2, 3], source: -1 }],
  });

  test("lead from what decided to the first op that followed", () => {
    const drawn = draw(decided(), "unrolled");
    expect(drawn.tree.edges.at(-1)).toMatchObject({ kind: "condition", from: "o1", to: "o2", condition: "if True" });
    expect(headWords(drawn)).toEqual(["o1>o2: if True"]);
    expect(headWords(draw(decided("while", "3.5"), "unrolled"))).toEqual(["o1>o2: while: body"]);
  });

  test("go to the closed module that holds it", () => {
    const drawn = draw(decided(), "unrolled", 1);
    const wire = drawn.wires.find((one) => one.isCondition)!;
    expect(wire.path.at(-1)).toBeCloseTo(drawn.scene.boxes.get("s1")!.y);
  });

  test("are no other statements, and nothing of a value that no op made", () => {
    expect(buildHierarchy(decided("assert"), "unrolled").edges.some((edge) => edge.kind === "condition")).toBe(false);
    const document = decided();
    const fromParameter = { ...document, branches: document.branches.map((branch) => ({ ...branch, op: -1 })) };
    expect(buildHierarchy(fromParameter, "unrolled").edges.some((edge) => edge.kind === "condition")).toBe(false);
  });

  test("hand on no tensor: neither ancestors nor the arrow keys follow them", () => {
    const { tree, scene } = draw(decided(), "unrolled");
    expect([...new Highlight(tree, "o2").up]).toEqual(["o0"]);
    expect(new Highlight(tree, "o1").down.size).toBe(0);
    expect(neighbour("down", "o1", scene)).toBeNull();
  });

  test("are lines of their own beside the tensors of the same ops", () => {
    const document = pass([{ type: "gt" }, { type: "where", reads: [0] }]);
    const branches = [{ op: 0, value: "False", statement: "if", taken: "", followed_by: [1], source: -1 }];
    const { wires } = draw({ ...document, branches }, "unrolled");
    expect(wires.map((wire) => wire.isCondition).sort()).toEqual([false, true]);
    expect(new Set(wires.map((wire) => wire.path.at(-2))).size).toBe(2);
  });
});

test("a box says what was done to its tensor", () => {
  const tree = buildHierarchy(pass([{ type: "relu", is_inplace: true }, { type: "mul", is_edited: true }, { type: "add" }]), "unrolled");
  expect(["o0", "o1", "o2"].map((key) => tree.nodes.get(key)!.marks)).toEqual([["in place"], ["edited"], []]);
});

test("the box of an op without a module of its own says its label", () => {
  const tree = buildHierarchy(pass([{ type: "getitem", label: "getitem_3_14" }]), "unrolled");
  expect(tree.nodes.get("o0")).toMatchObject({ title: "getitem", label: "getitem_3_14" });
});

test("an open group knows where lines enter its head", () => {
  const { scene } = draw(pass([{ type: "input", kind: "input" }, { type: "a", scope: 1, reads: [0] }, { type: "b", scope: 1, reads: [1] }], [{ address: "m" }]), "unrolled");
  const [box, inside] = [scene.boxes.get("s1")!, scene.boxes.get("o1")!];
  expect(box.entries.map((entry) => box.x + entry)).toEqual([inside.x + inside.width / 2]);
});
