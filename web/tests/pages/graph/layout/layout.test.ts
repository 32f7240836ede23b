import { describe, expect, test } from "vitest";
import { groupsToDepth, shownKeys } from "../../../../src/data/pass/edges";
import type { Form, Hierarchy } from "../../../../src/data/pass/model";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { deepest, Scene } from "../../../../src/pages/graph/drawing/scene";
import { type LayoutAnswer, Layouter } from "../../../../src/ui/graph-layout/layout";
import { type GroupLayout, type PlacedWire, toLayoutGraph } from "../../../../src/ui/graph-layout/layout-graph";
import type { Rect } from "../../../../src/ui/pan-zoom";
import type { PassDocument } from "../../../../src/wire";
import { loop, type OpPart, pass, residual, tangle } from "../../../pass-documents";

interface Laid {
  readonly tree: Hierarchy;
  readonly answer: LayoutAnswer;
  readonly layouts: ReadonlyMap<number, GroupLayout>;
  readonly scene: Scene;
}

function layOut(document: PassDocument, form: Form = "unrolled", depth = Infinity): Laid {
  const tree = buildHierarchy(document, form);
  const answer = new Layouter(toLayoutGraph(tree, true)).layOut(groupsToDepth(tree, Math.min(depth, deepest(tree))));
  const layouts = new Map(answer.fresh.map((layout) => [layout.id, layout]));
  return { tree, answer, layouts, scene: new Scene(tree, answer.root, layouts) };
}

function overlap(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** Points on a path, close enough together to meet any box that it runs through. */
function points({ path }: PlacedWire): [number, number][] {
  const found: [number, number][] = [];
  let [x, y] = [path[0]!, path[1]!];
  for (let at = 2; at < path.length; ) {
    const isLine = path[at] === 0;
    const c = isLine ? [x, y, path[at + 1]!, path[at + 2]!, path[at + 1]!, path[at + 2]!] : path.slice(at + 1, at + 7);
    for (let step = 0; step <= 24; step += 1) {
      const t = step / 24;
      const mix = (a: number, b: number, d: number, e: number): number =>
        (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t * t * d + t ** 3 * e;
      found.push([mix(x, c[0]!, c[2]!, c[4]!), mix(y, c[1]!, c[3]!, c[5]!)]);
    }
    [x, y] = [c[4]!, c[5]!];
    at += isLine ? 3 : 7;
  }
  return found;
}

/** All that is wrong with a layout, in words. */
function faults({ layouts }: Laid): string[] {
  const found: string[] = [];
  for (const layout of layouts.values()) {
    const things = [...layout.boxes, ...layout.chips];
    for (const [index, box] of things.entries()) {
      const name = "key" in box ? box.key : `chip ${box.keys.join()}`;
      const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= layout.width && box.y + box.height <= layout.height;
      if (!isInside) found.push(`${name} is not inside ${layout.key}`);
      if (things.slice(index + 1).some((other) => overlap(box, other))) found.push(`${name} overlaps in ${layout.key}`);
    }
    for (const wire of layout.wires) found.push(...wireFaults(wire, layout));
  }
  return found;
}

/** A line runs through no box: its ends touch theirs, no more. */
function wireFaults(wire: PlacedWire, layout: GroupLayout): string[] {
  const found = new Set<string>();
  for (const [x, y] of points(wire)) {
    if (!Number.isFinite(x + y)) found.add(`a line in ${layout.key} has no place`);
    for (const box of layout.boxes) {
      const isIn = x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + box.height - 1;
      if (isIn) found.add(`a line runs through ${box.key}`);
    }
  }
  return [...found];
}

describe("a layout", () => {
  test("of nested modules has no overlaps, and lines run through no box", { timeout: 60_000 }, () => {
    for (let seed = 0; seed < 24; seed += 1) {
      expect(faults(layOut(tangle(seed, 30 + seed * 3), "unrolled", 1 + (seed % 6)))).toEqual([]);
    }
  });

  test("writes no label over another", () => {
    for (let seed = 0; seed < 12; seed += 1) {
      for (const { wires } of layOut(tangle(seed, 60)).layouts.values()) {
        const rects = wires.flatMap(({ label }) =>
          label === null ? [] : [{ x: label.side === "right" ? label.x : label.x - 80, y: label.y, width: 80, height: 16 }],
        );
        expect(rects.filter((rect, at) => rects.slice(at + 1).some((other) => overlap(rect, other)))).toEqual([]);
      }
    }
  });

  test("of a rolled loop has none either, with lines that run back", () => {
    const laid = layOut(loop(), "rolled");
    expect(faults(laid)).toEqual([]);
    const back = laid.tree.edges.findIndex(({ from, to }) => from === "o3" && to === "o1");
    const wires = [...laid.layouts.values()].flatMap((layout) => [...layout.wires]);
    const feedback = wires.find((wire) => wire.edges.includes(back))!;
    const heights = points(feedback).map(([, y]) => y);
    expect(heights[0]).toBeGreaterThan(heights.at(-1)!);
  });

  test("of an op that feeds itself shows a loop beside it", () => {
    const ops: OpPart[] = [1, 2, 3].map((run) => ({ type: "tanh", layer: 0, pass_num: run, num_passes: 3, reads: run === 1 ? [] : [run - 2] }));
    const laid = layOut(pass(ops), "rolled");
    expect(faults(laid)).toEqual([]);
    expect([...laid.layouts.values()][0]!.wires).toHaveLength(1);
  });

  test("shows every box that is to be seen, and no other", () => {
    const laid = layOut(residual());
    expect([...laid.scene.boxes.keys()].sort()).toEqual(shownKeys(laid.tree, groupsToDepth(laid.tree, 9)).sort());
  });

  test("puts what reads below what is read", () => {
    const { scene, tree } = layOut(tangle(7, 80));
    for (const edge of tree.edges) {
      const [from, to] = [scene.boxes.get(edge.from)!, scene.boxes.get(edge.to)!];
      expect(to.y).toBeGreaterThan(from.y + from.height);
    }
  });

  test("keeps a chain exactly straight through all borders", () => {
    const calls = [{ address: "a" }, { parent: 1, address: "a.b" }, { address: "c" }];
    const chain = [0, 2, 2, 1, 3, 3, 0].map((scope, index): OpPart => ({ type: "relu", scope, reads: index === 0 ? [] : [index - 1] }));
    const { scene, layouts } = layOut(pass(chain, calls));
    const middles = [...scene.boxes.values()].filter((box) => !box.isOpen).map((box) => box.x + box.width / 2);
    expect(new Set(middles.map((x) => Math.round(x * 2))).size).toBe(1);
    for (const layout of layouts.values()) for (const wire of layout.wires) {
      expect(new Set(points(wire).map(([x]) => Math.round(x * 4))).size).toBe(1);
    }
  });

  test("keeps the main way of a residual block straight and the other beside it", () => {
    const { scene } = layOut(residual());
    const middle = (key: string): number => scene.boxes.get(key)!.x + scene.boxes.get(key)!.width / 2;
    for (const key of ["o1", "o2", "o5", "o6"]) expect(middle(key)).toBeCloseTo(middle("o0"));
    expect(middle("o3")).toBeGreaterThan(middle("o0") + 100);
  });

  test("keeps the longest way straight through a module whose outputs go different ways", () => {
    // x -> split into three in a module; the last goes the longest way, and all meet again.
    const ops: OpPart[] = [
      { type: "input", kind: "input" },
      ...[0, 1, 2].map((): OpPart => ({ type: "split", scope: 1, reads: [0] })),
      { type: "view", reads: [3] },
      { type: "cat", reads: [4] },
      { type: "attention", reads: [1, 2, 5] },
      { type: "output", kind: "output", reads: [6] },
    ];
    const { scene } = layOut(pass(ops, [{ name: "split" }]));
    const middle = (key: string): number => scene.boxes.get(key)!.x + scene.boxes.get(key)!.width / 2;
    for (const key of ["o3", "o4", "o5", "o6", "o7"]) expect(middle(key)).toBeCloseTo(middle("o0"));
  });

  test("joins the pieces of a line at the borders that it crosses", { timeout: 60_000 }, () => {
    for (let seed = 0; seed < 12; seed += 1) {
      const laid = layOut(tangle(seed, 50));
      for (const [index] of laid.tree.edges.entries()) expectJoined(laid, index);
    }
  });

  test("repeats what feeds many far boxes as chips instead of long lines", () => {
    const ops: OpPart[] = [{ type: "input", kind: "input", name: "x" }, { type: "input", kind: "input", name: "mask" }];
    for (let step = 0; step < 24; step += 1) ops.push({ type: "block", reads: step === 0 ? [0, 1] : [step + 1, 1] });
    const laid = layOut(pass(ops));
    expect(faults(laid)).toEqual([]);
    const [layout] = laid.layouts.values();
    expect(layout!.chips.length).toBeGreaterThan(18);
    expect(layout!.chips.every((chip) => chip.keys.join() === "o1")).toBe(true);
  });

  test("gives many values that leave a group from far inside one port", () => {
    const ops: OpPart[] = [{ type: "input", kind: "input", name: "x" }];
    for (let step = 0; step < 20; step += 1) ops.push({ type: "block", scope: 1, reads: [step] });
    for (let step = 1; step <= 20; step += 1) ops.push({ type: "stack", reads: [step] });
    const laid = layOut(pass(ops, [{ address: "m" }]));
    expect(faults(laid)).toEqual([]);
    const inside = [...laid.layouts.values()].find((layout) => layout.key === "s1")!;
    expect(inside.chips.some((chip) => chip.names === "readers")).toBe(true);
  });

  test("is made once for each state of a group", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    const layouter = new Layouter(toLayoutGraph(tree, false));
    const first = layouter.layOut(["s1", "s4"]);
    expect(first.fresh.map((layout) => layout.key)).toEqual(["s4", "s1", "s0"]);
    expect(layouter.layOut(["s1"]).fresh.map((layout) => layout.key)).toEqual(["s1", "s0"]);
    const again = layouter.layOut(["s1", "s4"]);
    expect(again.fresh).toEqual([]);
    expect(again.root).toBe(first.root);
  });

  test("of 5,000 ops in one row after the other comes to an end, and tells how far it is", { timeout: 60_000 }, () => {
    const ops = Array.from({ length: 5000 }, (_, index): OpPart => ({ type: "relu", reads: index === 0 ? [] : [index - 1, Math.max(0, index - 9)] }));
    const tree = buildHierarchy(pass(ops), "unrolled");
    const heard: number[] = [];
    const answer = new Layouter(toLayoutGraph(tree, false)).layOut(groupsToDepth(tree, 9), (count) => heard.push(count));
    const layouts = new Map(answer.fresh.map((layout) => [layout.id, layout]));
    expect(new Scene(tree, answer.root, layouts).boxes.size).toBeGreaterThan(5000);
    expect(heard.at(-1)).toBeGreaterThanOrEqual(5000);
    expect([...heard].sort((a, b) => a - b)).toEqual(heard);
  });

  test("ignores groups that are not there", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    const answer = new Layouter(toLayoutGraph(tree, false)).layOut(["s99", "o1", "nothing"]);
    expect(answer.fresh.map((layout) => layout.key)).toEqual(["s0"]);
  });
});

/** Follow one edge from box to box: each piece starts where the one before ended, unless a chip stands between. */
function expectJoined({ tree, layouts, scene }: Laid, index: number): void {
  const { from, to } = tree.edges[index]!;
  const pieces: [number, number, number, number][] = [];
  let hasChip = false;
  for (const layout of layouts.values()) {
    const frame = layout.key === tree.root ? { x: 0, y: 0 } : scene.boxes.get(layout.key)!;
    hasChip ||= layout.chips.length > 0;
    for (const wire of layout.wires) {
      if (!wire.edges.includes(index)) continue;
      const way = points(wire);
      const [start, end] = [way[0]!, way.at(-1)!];
      pieces.push([frame.x + start[0], frame.y + start[1], frame.x + end[0], frame.y + end[1]]);
    }
  }
  if (hasChip) return;
  pieces.sort((a, b) => a[1] - b[1]);
  const [first, last] = [scene.boxes.get(from)!, scene.boxes.get(to)!];
  expect(pieces[0]![1]).toBeCloseTo(first.y + first.height);
  expect(pieces.at(-1)![3]).toBeCloseTo(last.y);
  for (const [at, piece] of pieces.slice(1).entries()) {
    expect(piece[0]).toBeCloseTo(pieces[at]![2]);
    expect(piece[1]).toBeCloseTo(pieces[at]![3]);
  }
}
