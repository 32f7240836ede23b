import { describe, expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { opSubtitle, splitArguments } from "../../../../src/data/pass/node-words";
import { commonTypes, figureText, measureBy, scaleOf, stepOf, unitFor } from "../../../../src/pages/graph/drawing/box-figures";
import { op, param, pass, residual } from "../../../pass-documents";

describe("the words on a box", () => {
  const subtitle = (part: Parameters<typeof op>[0], className = "", shapes: number[][] = []): string => {
    const params = shapes.map(param);
    return opSubtitle(op({ ...part, params: params.map((_, index) => index) }, 0), className, pass([], [], params));
  };

  test("a convolution says its kernel, stride and groups", () => {
    const weight = [[64, 3, 7, 7]];
    expect(subtitle({ type: "conv2d", arguments: "None, (2, 2), (3, 3), (1, 1), 1" }, "Conv2d", weight)).toBe("Conv2d 7×7 s2");
    expect(subtitle({ type: "conv2d", arguments: "(1, 1), (0, 0), (1, 1), 32" }, "Conv2d", weight)).toBe("Conv2d 7×7 g32");
    expect(subtitle({ type: "conv2d", arguments: "stride=(2, 1)" }, "", weight)).toBe("conv2d · 7×7 s2×1");
    expect(subtitle({ type: "conv2d" }, "Conv2d", weight)).toBe("Conv2d 7×7");
  });

  test("other layers say what tells them apart", () => {
    expect(subtitle({ type: "maxpool2d", arguments: "3, stride=2, padding=1" }, "MaxPool2d")).toBe("MaxPool2d 3×3 s2");
    expect(subtitle({ type: "linear" }, "Linear", [[1000, 512]])).toBe("Linear 512 → 1000");
    expect(subtitle({ type: "dropout", arguments: "p=0.1, training=True" }, "Dropout")).toBe("Dropout p 0.1");
    expect(subtitle({ type: "layernorm", arguments: "(96,), eps=1e-05" }, "LayerNorm")).toBe("LayerNorm");
    expect(subtitle({ type: "view", arguments: "-1, 49" })).toBe("view · -1, 49");
  });

  test("arguments are split outside of brackets and strings only", () => {
    const { positional, named } = splitArguments(`(2, 2), 'a, "b', x=[1, {2: 3}], 'it\\'s, so', dim=-1`);
    expect(positional).toEqual(["(2, 2)", `'a, "b'`, `'it\\'s, so'`]);
    expect([...named]).toEqual([["x", "[1, {2: 3}]"], ["dim", "-1"]]);
  });
});

describe("figures", () => {
  test("all have the unit of the limit, and enough digits to compare", () => {
    const unit = unitFor("forward_time", 0.0021);
    expect(unit.name).toBe("ms");
    expect([0.0021, 0.00004, 0.000001, 0, 0.318].map((value) => figureText(value, unit))).toEqual(["2.10", "0.04", "<0.01", "0", "318"]);
    expect(unitFor("memory", 12).name).toBe("B");
    expect(unitFor("flops", 0).name).toBe("FLOP");
  });

  test("a scale runs from zero to the largest value, or to a limit that was chosen", () => {
    expect(scaleOf("memory", [3, null, 9], null).limit).toBe(9);
    expect(scaleOf("memory", [3, null, 9], 5).limit).toBe(5);
    expect(scaleOf("zeros", [0.2], null).limit).toBe(1);
    const scale = scaleOf("memory", [100], null);
    expect([0, 9, 10, 99, 100, 1000].map((value) => stepOf(value, scale))).toEqual([0, 0, 1, 9, 9, 9]);
    expect(stepOf(0, scaleOf("memory", [], null))).toBe(0);
  });

  test("what is not known has no figure", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    expect(measureBy("zeros", tree, new Map())).toBeNull();
    expect(measureBy("backward_time", tree, new Map())!(tree.nodes.get("o1")!)).toBeNull();
    expect(measureBy("type", tree, new Map())).toBeNull();
    const zeros = measureBy("zeros", tree, new Map([["zeros", [null, 0.5, 0.1, null, 0.3, null, null]]]))!;
    expect(zeros(tree.nodes.get("o1")!)).toBe(0.5);
    expect(zeros(tree.nodes.get("s4")!)).toBeCloseTo(0.3);
    expect(zeros(tree.nodes.get("o0")!)).toBeNull();
  });

  test("the commonest types come first, at most eight", () => {
    expect(commonTypes(buildHierarchy(residual(), "unrolled"))).toEqual(["conv2d", "add", "batchnorm", "relu"]);
  });
});
