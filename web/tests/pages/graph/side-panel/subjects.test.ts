import { expect, test } from "vitest";
import { inputsOf } from "../../../../src/pages/graph/side-panel/SidePanel";
import { around } from "../../../../src/pages/graph/side-panel/OpFacts";
import { tabsOf, whyNotSaved } from "../../../../src/plot/tensor/subjects";
import { documentWith, opWith, smallDocument } from "../../../samples";

test("an op has only the tabs that have something", () => {
  const names = (index: number): string[] => tabsOf(smallDocument(), index).map(({ name }) => name);
  expect(names(0)).toEqual(["Output"]);
  expect(names(1)).toEqual(["Output", "Input", "Weight"]);
  expect(names(2)).toEqual(["Output", "Input"]);
});

test("gradients of the output and of its weights are one tab", () => {
  const document = smallDocument();
  document.ops[1] = opWith({ ...document.ops[1]!, has_grad: true });
  document.params[0] = { ...document.params[0]!, has_grad: true };
  const gradient = tabsOf(document, 1).find(({ name }) => name === "Gradient")!;
  expect(gradient.subjects.map(({ kind, index }) => [kind, index])).toEqual([
    ["grad", 1],
    ["param_grad", 0],
  ]);
});

test("inputs are the outputs of parents, told apart by their argument", () => {
  const inputs = tabsOf(smallDocument(), 2).find(({ name }) => name === "Input")!.subjects;
  expect(inputs.map(({ kind, index, name }) => [kind, index, name])).toEqual([
    ["output", 1, "0: conv2d_1_1"],
    ["output", 1, "1: conv2d_1_1"],
  ]);
});

test("what was not saved is told with the way to save it", () => {
  expect(whyNotSaved(smallDocument(), { kind: "output", index: 2 }, false)).toContain(
    '"add_1_2" among layers_to_save',
  );
  expect(whyNotSaved(smallDocument(), { kind: "output", index: 2 }, true)).toContain("run.log_tensor");
  expect(whyNotSaved(smallDocument(), { kind: "grad", index: 2 }, false)).toContain("save_gradients");
  expect(whyNotSaved(documentWith({ is_shape_only: true }), { kind: "output", index: 0 }, false)).toContain(
    "Shapes only",
  );
});

test("a child that takes a tensor twice is one child", () => {
  expect(around(smallDocument(), 1).children).toEqual([2]);
  expect(around(smallDocument(), 3).children).toEqual([]);
});

test("passes of a layer are found together, branches by the op they asked and those that followed", () => {
  const document = documentWith({
    ops: [0, 1, 0].map((layer, at) => opWith({ layer, label: `op_${at}` })),
    branches: [
      { op: 0, value: "True", statement: "if x > 0", taken: "then", followed_by: [1, 2], source: -1 },
    ],
  });
  expect(around(document, 2).passes).toEqual([0, 2]);
  expect(around(document, 0).asking.length).toBe(1);
  expect(around(document, 2).before.length).toBe(1);
  expect(around(document, 0).before).toEqual([]);
});

test("the inputs of a module are what it reads from outside", () => {
  expect(inputsOf(smallDocument(), [1])).toEqual([0]);
  expect(inputsOf(smallDocument(), [1, 2])).toEqual([0]);
  expect(inputsOf(smallDocument(), [2, 3])).toEqual([1]);
});
