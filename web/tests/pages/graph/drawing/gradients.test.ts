import { expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { carriesGradient } from "../../../../src/pages/graph/drawing/wires";
import { pass } from "../../../pass-documents";

test("no gradient is said to run back past a detach, or into the data", () => {
  const document = {
    ...pass([
      { type: "input", kind: "input", requires_grad: false },
      { type: "linear", reads: [0], has_grad: true },
      { type: "detach", reads: [1], requires_grad: false },
      { type: "mul", reads: [1, 2], has_grad: true },
    ]),
    num_backward_passes: 1,
  };
  const tree = buildHierarchy(document, "unrolled");
  const ran = tree.edges.flatMap(({ from, to }, index) =>
    carriesGradient({ edges: [index] }, tree) ? [`${from}>${to}`] : [],
  );
  expect(ran).toEqual(["o1>o3"]);
});
