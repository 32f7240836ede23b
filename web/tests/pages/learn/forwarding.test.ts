import { expect, test } from "vitest";
import { forwardOf, resultFor } from "../../../src/pages/learn/arithmetic";
import { cells, nodeWith } from "./samples";

const [A, B] = [cells([2, 2], [1, 2, 3, 4]), cells([2], [10, 20])];

function node(rule: string, text: string, value: ReturnType<typeof cells>) {
  return nodeWith(2, "c", { rule, text, value });
}

test("a sign stands between the numbers of both inputs, also where one is broadcast", () => {
  const { worked, total, parts } = forwardOf(node("add", "a + b", cells([2, 2], [11, 22, 13, 24])), [A, B], 3);
  expect(worked).toEqual({ form: "sign", left: 4, sign: "+", right: 20 });
  expect(total).toBe(24);
  expect(parts.map((one) => [...one])).toEqual([[3], [1]]);
});

test("a number that stands in the text is taken from there, at either side of the sign", () => {
  const worked = (rule: string, text: string, made: number) => forwardOf(node(rule, text, cells([], [made])), [cells([], [4])], 0).worked;
  expect(worked("mul", "3 * x", 12)).toEqual({ form: "sign", left: 3, sign: "×", right: 4 });
  expect(worked("pow", "x ** 2", 16)).toEqual({ form: "sign", left: 4, sign: "**", right: 2 });
  expect(worked("sub", "1 - x", -3)).toEqual({ form: "sign", left: 1, sign: "\u2212", right: 4 });
  expect(worked("sub", "x - 1", 3)).toEqual({ form: "sign", left: 4, sign: "\u2212", right: 1 });
  expect(worked("add", "x + 1e-05", 4.00001)).toEqual({ form: "sign", left: 4, sign: "+", right: 1e-5 });
});

test("what does not make the result is not claimed", () => {
  const worked = (rule: string, text: string, made: number) => forwardOf(node(rule, text, cells([], [made])), [cells([], [4])], 0).worked;
  expect(worked("div", "x / 2 ** 0.5", 4 / 2 ** 0.5)).toEqual({ form: "none" });
  expect(worked("mul", "k * x", 12)).toEqual({ form: "none" });
  expect(worked("relu", "T.relu(x)", 5)).toEqual({ form: "none" });
  expect(worked("constructor", "x", 4)).toEqual({ form: "none" });
});

test("a function is written with its number", () => {
  const made = forwardOf(node("relu", "T.relu(z)", cells([2], [0, 3])), [cells([2], [-1, 3])], 0);
  expect(made.worked).toEqual({ form: "function", name: "relu", of: -1 });
  expect([...made.parts[0]!]).toEqual([0]);
});

test("a product of matrices is a row times a column, and nothing where some of it was cut off", () => {
  const value = cells([2, 2], [7, 10, 15, 22]);
  const { worked, parts } = forwardOf(node("matmul", "a @ a", value), [A, A], 1);
  expect(worked).toEqual({ form: "products", terms: [[1, 2], [2, 4]] });
  expect(parts.map((one) => [...one])).toEqual([[0, 1], [1, 3]]);

  const cut = cells([2, 9], [1, 2, 3, 4], { num_rows: 2, num_columns: 2, is_whole: false });
  expect(forwardOf(node("matmul", "a @ b", value), [cut, A], 1).worked).toEqual({ form: "none" });
});

test("a cell of an input leads to a result that it has a part in, first to the one that is looked at", () => {
  const made = node("matmul", "a @ w", cells([2, 1], [5, 11]));
  const [a, w] = [A, cells([2, 1], [1, 2])];
  expect(resultFor(made, [a, w], a, 2, 0)).toBe(1);
  expect(resultFor(made, [a, w], w, 0, 1)).toBe(1);
  expect(resultFor(node("softmax", "T.softmax(a)", A), [A], A, 0, 0)).toBeNull();
});
