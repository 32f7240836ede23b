import { describe, expect, test } from "vitest";
import { ancestors, descendants, opsInside, shownKeys } from "../../../src/data/pass/edges";
import { buildHierarchy } from "../../../src/data/pass/tree-builder";
import { Highlight } from "../../../src/pages/graph/drawing/highlight";
import { initialOpen } from "../../../src/pages/graph/drawing/scene";
import { loop, pass, residual } from "../../pass-documents";

describe("edges between ops", () => {
  test("an op that reads a tensor twice has one edge with both uses", () => {
    const tree = buildHierarchy(pass([{ type: "input", kind: "input" }, { type: "mul", reads: [[0, "0"], [0, "1"]] }]), "unrolled");
    expect(tree.edges).toHaveLength(1);
    expect(tree.edges[0]).toMatchObject({ from: "o0", to: "o1", shape: "2×3" });
    expect(tree.edges[0]!.uses).toHaveLength(2);
  });

  test("ancestors and descendants of an op are all that leads to it and all that follows", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    expect([...ancestors(tree, "o5")].sort()).toEqual(["o0", "o1", "o2", "o3", "o4"]);
    expect([...descendants(tree, "o3")].sort()).toEqual(["o4", "o5", "o6"]);
    expect(ancestors(tree, "o0").size).toBe(0);
  });

  test("those of a group leave out what is inside it", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    expect([...ancestors(tree, "s4")]).toEqual(["o0"]);
    expect([...descendants(tree, "s4")].sort()).toEqual(["o5", "o6"]);
    expect(opsInside(tree, "s4")).toEqual([3, 4]);
  });

  test("in a loop, a node can be both, and the search ends", () => {
    const tree = buildHierarchy(loop(), "rolled");
    expect(ancestors(tree, "o2").has("o3")).toBe(true);
    expect(descendants(tree, "o2").has("o3")).toBe(true);
  });

  test("what a buffer reaches is what reads it and all that follows", () => {
    const tree = buildHierarchy(
      pass([{ type: "buffer", kind: "buffer", name: "mask" }, { type: "add", reads: [0] }, { type: "relu", reads: [1] }]),
      "unrolled",
    );
    const lit = new Highlight(tree, "o0");
    expect([...lit.down].sort()).toEqual(["o1", "o2"]);
    expect(lit.up.size).toBe(0);
  });
});

test("what only keeps a buffer up to date reaches nothing", () => {
  const tree = buildHierarchy(
    pass([{ type: "buffer", kind: "buffer", name: "count" }, { type: "add", reads: [0] }, { type: "relu" }, { type: "mul", reads: [2] }]),
    "unrolled",
  );
  expect(tree.nodes.get("o1")!.host).toBe("o2");
  for (const key of ["o0", "o1"]) expect(new Highlight(tree, key)).toMatchObject({ up: new Set(), down: new Set() });
});

test("rolled, an edge whose tensor grows says from what to what", () => {
  const ops = [1, 2, 3].map((run) => ({
    type: "cat", layer: 1, pass_num: run, num_passes: 3, shape: [2 * run, 4], reads: run === 1 ? [] : [run - 2],
  }));
  const tree = buildHierarchy(pass([...ops, { type: "output", kind: "output", layer: 2, reads: [2] }]), "rolled");
  expect(tree.edges.map((edge) => edge.shape)).toEqual(["2×4 … 4×4", "6×4"]);
});

describe("what is open at the start", () => {
  test("shows no open group inside a closed one", () => {
    expect(shownKeys(buildHierarchy(residual(), "unrolled"), new Set(["s4"]))).toEqual(["o0", "s1", "o6"]);
  });

  test("a small pass is open as deep as 60 boxes go", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    expect(shownKeys(tree, initialOpen(tree))).toContain("o4");
  });

  test("a large pass starts closed", () => {
    const calls = Array.from({ length: 20 }, (_, index) => ({ address: `m${index}` }));
    const ops = Array.from({ length: 600 }, (_, index) => ({ type: "relu", scope: 1 + Math.floor(index / 30), reads: index === 0 ? [] : [index - 1] }));
    const tree = buildHierarchy(pass(ops, calls), "unrolled");
    expect(shownKeys(tree, initialOpen(tree))).toHaveLength(20);
  });
});

describe("what a selection lights up", () => {
  test("closed groups stand for what is in them", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    const lit = new Highlight(tree, "o2");
    expect(lit.ofBox("s4")).toBe("off");
    expect(lit.ofBox("o1")).toBe("up");
    expect(lit.ofBox("o5")).toBe("down");
    expect(new Highlight(tree, "o5").ofBox("s4")).toBe("up");
    expect(new Highlight(tree, null).ofBox("o5")).toBe("plain");
  });

  test("inside a selected group nothing is before or after it", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    const lit = new Highlight(tree, "s1");
    expect(lit.ofBox("s1")).toBe("selected");
    expect(lit.ofBox("o2")).toBe("plain");
    expect(lit.ofBox("s4")).toBe("plain");
    expect(lit.ofBox("o0")).toBe("up");
    expect(lit.ofBox("o6")).toBe("down");
  });
});
