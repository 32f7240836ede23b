import { describe, expect, test } from "vitest";
import type { Hierarchy } from "../../../src/data/pass/model";
import { buildHierarchy } from "../../../src/data/pass/tree-builder";
import { loop, param, pass, residual, tangle } from "../../pass-documents";

const children = (tree: ReturnType<typeof buildHierarchy>, key: string): string[] => tree.nodes.get(key)!.children;

describe("the tree of a pass", () => {
  test("a module that holds one op is that op, named by the module", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    const conv = tree.nodes.get("o1")!;
    expect(conv).toMatchObject({ kind: "op", title: "conv", subtitle: "Conv2d 3×3 s2", className: "Conv2d", parent: "s1" });
    expect(tree.nodeOfScope[2]).toBe("o1");
    expect(tree.nodes.has("s2")).toBe(false);
  });

  test("a module of several ops is a group, with addresses relative to the module around it", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    expect(children(tree, "s0")).toEqual(["o0", "s1", "o6"]);
    expect(children(tree, "s1")).toEqual(["o1", "o2", "s4", "o5"]);
    expect(tree.nodes.get("s4")).toMatchObject({ title: "down", subtitle: "Sequential", depth: 2, numOps: 2 });
    expect(tree.nodes.get("o3")!.title).toBe("0");
  });

  test("modules that hold nothing but another fold into one node with the whole way as its name", () => {
    const tree = buildHierarchy(
      pass([{ type: "linear", scope: 2 }], [{ address: "head", name: "Sequential" }, { parent: 1, address: "head.0", name: "Linear" }]),
      "unrolled",
    );
    expect(tree.nodes.get("o0")).toMatchObject({ title: "head.0", className: "Linear", scopes: [1, 2] });
    expect(tree.nodeOfScope).toEqual(["s0", "o0", "o0"]);
  });

  test("a function that was opened up is a group, or its op where there is just one", () => {
    const tree = buildHierarchy(
      pass(
        [{ type: "pad", scope: 1 }, { type: "mul", scope: 2, reads: [0] }, { type: "softmax", scope: 2, reads: [1] }],
        [{ name: "pad" }, { name: "attention" }],
      ),
      "unrolled",
    );
    expect(tree.nodes.get("o0")).toMatchObject({ title: "pad", className: "" });
    expect(tree.nodes.get("s2")).toMatchObject({ title: "attention", subtitle: "function" });
  });

  test("a pass number stands in the name of what ran more than once", () => {
    const tree = buildHierarchy(loop(), "unrolled");
    expect(children(tree, "s0").map((key) => tree.nodes.get(key)!.title)).toEqual(["x", "cell:1", "cell:2", "cell:3", "output_10"]);
  });

  test("rolled, the calls of a loop are one group and its layers one node each", () => {
    const tree = buildHierarchy(loop(), "rolled");
    expect(children(tree, "s0")).toEqual(["o0", "s1", "o10"]);
    expect(tree.nodes.get("s1")).toMatchObject({ title: "cell", subtitle: "Cell", times: "× 3", scopes: [1, 3, 5] });
    expect(tree.nodes.get("o3")!.ops).toEqual([3, 6, 9]);
    expect(tree.nodeOfOp[9]).toBe("o3");
    expect(tree.nodeOfScope[5]).toBe("s1");
  });

  test("rolled, what is fed back runs against the order", () => {
    const tree = buildHierarchy(loop(), "rolled");
    const back = (of: Hierarchy): string[] => {
      const order = (key: string): number => of.nodes.get(key)!.order;
      return of.edges.filter(({ from, to }) => order(from) >= order(to)).map(({ from, to }) => `${from}>${to}`);
    };
    expect(back(tree)).toEqual(["o3>o1"]);
    expect(back(buildHierarchy(loop(), "unrolled"))).toEqual([]);
  });

  test("rolled, one module used at two places stays two nodes", () => {
    const calls = [1, 2].map((run) => ({ address: "relu", name: "ReLU", pass_num: run, num_passes: 2 }));
    const shared = pass([{ type: "relu", scope: 1 }, { type: "add", reads: [0] }, { type: "relu", scope: 2, reads: [1] }], calls);
    expect(children(buildHierarchy(shared, "rolled"), "s0")).toEqual(["o0", "o1", "o2"]);
  });

  test("buffers and their upkeep are chips of the op that they belong to", () => {
    const tree = buildHierarchy(
      pass(
        [
          { type: "input", kind: "input" },
          { type: "buffer", kind: "buffer", scope: 1, name: "bn.num_batches_tracked" },
          { type: "add", scope: 1, reads: [1] },
          { type: "buffer", kind: "buffer", scope: 1, name: "bn.running_mean" },
          { type: "batchnorm", scope: 1, reads: [0, 3], params: [0] },
        ],
        [{ address: "bn", name: "BatchNorm2d" }],
        [param([4])],
      ),
      "unrolled",
    );
    expect(children(tree, "s0")).toEqual(["o0", "o4"]);
    expect(tree.nodes.get("o4")!.chips.map((chip) => chip.text)).toEqual(["4", "running_mean", "num_batches_tracked", "add_2"]);
    for (const key of ["o1", "o2", "o3"]) expect(tree.nodes.get(key)!.host).toBe("o4");
    expect(tree.edges.map((edge) => [edge.from, edge.to])).toEqual([["o0", "o4"]]);
  });

  test("a buffer that an ordinary op is made from does not make that op upkeep", () => {
    const tree = buildHierarchy(
      pass([{ type: "buffer", kind: "buffer", name: "mask" }, { type: "slice", reads: [0] }, { type: "add", reads: [1] }, { type: "output", kind: "output", reads: [2] }]),
      "unrolled",
    );
    expect(children(tree, "s0")).toEqual(["o1", "o2", "o3"]);
  });

  test("a pass of nothing but buffers, of nothing at all and of no scopes is still a tree", () => {
    expect(children(buildHierarchy(pass([{ type: "buffer", kind: "buffer" }]), "unrolled"), "s0")).toEqual(["o0"]);
    expect(children(buildHierarchy(pass([]), "rolled"), "s0")).toEqual([]);
    const bare = { ...pass([{ type: "relu", scope: -1 }]), scopes: [] };
    expect(children(buildHierarchy(bare, "unrolled"), "s0")).toEqual(["o0"]);
  });

  test("figures of a group are the sums of what is in it, with shared parameters once", () => {
    const tree = buildHierarchy(
      pass(
        [{ type: "linear", scope: 1, params: [0] }, { type: "linear", scope: 1, reads: [0], params: [0], flops: null }],
        [{ address: "m" }],
        [param([3, 3])],
      ),
      "unrolled",
    );
    expect(tree.nodes.get("s1")).toMatchObject({ numOps: 2, seconds: 0.002, numBytes: 48, flops: 6, numParams: 9 });
  });

  test("more than 400 children stand in stretches, and none is lost", () => {
    const ops = Array.from({ length: 1201 }, (_, index) => ({ type: "relu", reads: index === 0 ? [] : [index - 1] }));
    const tree = buildHierarchy(pass(ops), "unrolled");
    const inside = children(tree, "s0").flatMap((key) => children(tree, key));
    expect(children(tree, "s0").length).toBeLessThanOrEqual(400);
    expect(tree.nodes.get(children(tree, "s0")[1]!)!.title).toBe("ops 94–186");
    expect(inside).toEqual(ops.map((_, index) => `o${index}`));
    for (const key of children(tree, "s0")) for (const child of children(tree, key)) expect(tree.nodes.get(child)!.parent).toBe(key);
  });

  test("many outputs stand in one group", () => {
    const outputs = Array.from({ length: 9 }, () => ({ type: "output", kind: "output" as const, reads: [0] }));
    const tree = buildHierarchy(pass([{ type: "relu" }, ...outputs]), "unrolled");
    expect(children(tree, "s0")).toEqual(["o0", "s0.outputs"]);
    expect(children(tree, "s0.outputs")).toHaveLength(9);
  });

  test("every op has a node, whatever the nesting", () => {
    for (const form of ["unrolled", "rolled"] as const) {
      for (let seed = 0; seed < 20; seed += 1) {
        const document = tangle(seed, 60);
        const tree = buildHierarchy(document, form);
        for (const [index, key] of tree.nodeOfOp.entries()) expect(tree.nodes.get(key)?.ops).toContain(index);
        expect(tree.nodes.get("s0")!.numOps).toBe(document.ops.length);
      }
    }
  });

  test("where a pass raised, its last op and the groups around it say so", () => {
    const tree = buildHierarchy({ ...pass([{ type: "relu" }, { type: "mul", scope: 1 }, { type: "add", scope: 1 }], [{ address: "m" }]), error: "boom" }, "unrolled");
    expect([...tree.nodes.values()].filter((node) => node.isFailed).map((node) => node.key).sort()).toEqual(["o2", "s0", "s1"]);
  });
});
