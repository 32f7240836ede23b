import { expect, test } from "vitest";
import { broadcastPlace, elementFor, workingOf } from "../../../src/pages/learn/arithmetic";
import {
  cellFormat,
  checkText,
  decimalText,
  elementName,
  errorText,
  factorText,
  haveSameNumbers,
  indexOf,
  largestAt,
  limitOf,
  numbersOf,
  placeOf,
  sharedLimit,
  toleranceText,
} from "../../../src/pages/learn/cells";
import { judged } from "../../../src/pages/learn/steps";
import { cells, productLesson, stepWith } from "./samples";

test("numbers that JSON has not come as text", () => {
  expect(numbersOf(cells([4], [1, "nan", "inf", "-inf"]))).toEqual([1, NaN, Infinity, -Infinity]);
});

test("each number has its index in the tensor, whatever its dimensions are, and back", () => {
  const all = cells([2, 2, 3], Array.from({ length: 12 }, (_, at) => at));
  expect(indexOf(all, 8)).toEqual([1, 0, 2]);
  for (let nth = 0; nth < 12; nth += 1) expect(placeOf(all, indexOf(all, nth))).toBe(nth);
  expect(indexOf(cells([], [5]), 0)).toEqual([]);
  expect(elementName("W1", all, 8)).toBe("W1[1, 0, 2]");
  expect(elementName("loss", cells([], [5]), 0)).toBe("loss");
});

test("of a tensor that is cut off, what is not here has no place", () => {
  const part = cells([64, 64], [0, 1, 2, 3], { num_rows: 2, num_columns: 2, is_whole: false });
  expect(indexOf(part, 3)).toEqual([1, 1]);
  expect(placeOf(part, [1, 1])).toBe(3);
  expect(placeOf(part, [0, 2])).toBeNull();
});

test("limits leave out what is no number, and are never nothing", () => {
  expect(limitOf([cells([3], [1, "nan", -3])])).toBe(3);
  expect(limitOf([cells([1], [0])])).toBe(1);
  expect(sharedLimit([1, 2, 3, 100].map((value) => cells([1], [value])))).toBe(6);
  expect(sharedLimit([1, 2, 3, 5].map((value) => cells([1], [value])))).toBe(5);
  expect(sharedLimit([])).toBe(1);
  expect(largestAt(cells([3], [1, -5, 2]))).toBe(1);
});

test("the same numbers in another form are the same", () => {
  expect(haveSameNumbers(cells([2, 1], [1, 2]), cells([1, 2], [2, 1]))).toBe(true);
  expect(haveSameNumbers(cells([2], [1, 2]), cells([2], [1, 3]))).toBe(false);
});

test("dimensions meet from the right, and those of one are spread", () => {
  const whole = cells([2, 3], [0, 1, 2, 3, 4, 5]);
  expect(broadcastPlace(whole, 4, cells([3], [0, 1, 2]))).toBe(1);
  expect(broadcastPlace(whole, 4, cells([2, 1], [0, 1]))).toBe(1);
  expect(broadcastPlace(whole, 4, cells([], [0]))).toBe(0);
});

test("an element of a product of matrices is a sum of products", () => {
  const step = stepWith({
    form: "matrix", left: cells([2, 2], [1, 2, 3, 4]), right: cells([2, 3], [1, 2, 3, 4, 5, 6]),
    contribution: cells([2, 3], [9, 12, 15, 19, 26, 33]), raw: cells([2, 3], [9, 12, 15, 19, 26, 33]),
  });
  const working = workingOf(step, 4);
  expect(working.terms).toEqual([[3, 2], [4, 5]]);
  expect([working.left, working.right, working.total]).toEqual([new Set([2, 3]), new Set([1, 4]), 26]);
});

test("what was broadcast is summed: every copy has a part", () => {
  const raw = cells([2, 2], [1, 2, 30, 40]);
  const step = stepWith({ left: cells([2, 2], [1, 1, 3, 2]), right: cells([2, 2], [1, 2, 10, 20]), raw, contribution: cells([2], [31, 42]) });
  expect(workingOf(step, 1).terms).toEqual([[1, 2], [2, 20]]);
  expect(workingOf(step, 1).raw).toEqual(new Set([1, 3]));
});

test("with a Jacobian only what is not nought has a part", () => {
  const matrix = cells([2, 3], [0, 2, 0, 1, 0, 5]);
  const step = stepWith({
    form: "moved", upstream: cells([2], [10, 20]), contribution: cells([3], [20, 20, 100]), raw: cells([3], [20, 20, 100]),
    jacobian: { rows: ["c[0]", "c[1]"], columns: ["a[0]", "a[1]", "a[2]"], cells: matrix },
  });
  expect(workingOf(step, 2)).toMatchObject({ terms: [[5, 20]], total: 100, upstream: new Set([1]) });
  const general = { ...step, form: "general" as const, left: cells([1, 2], [10, 20]), right: matrix };
  expect(workingOf(general, 1)).toMatchObject({ terms: [[10, 2]], left: new Set([0]), right: new Set([1]) });
});

test("without factors a contribution is what arrived, and what cannot be said is not", () => {
  const step = productLesson().backward[1]!;
  expect(workingOf(step, 0)).toMatchObject({ terms: [[1]], upstream: new Set([0]) });
  const other = stepWith({ form: "moved", upstream: cells([2], [5, 6]), contribution: cells([2], [6, 5]), raw: cells([2], [6, 5]) });
  expect(workingOf(other, 0).terms).toBeNull();
});

test("a factor that is pointed at leads to an element that it has a part in", () => {
  const step = productLesson().backward[2]!;
  expect(elementFor(step, "left", 1, 0)).toBe(1);
  expect(elementFor(step, "contribution", 1, 0)).toBe(1);
  expect(elementFor(step, "right", 0, 1)).toBe(1);
});

test("numbers are written alike in a grid, and with more digits elsewhere", () => {
  expect([0.5, -1, 2].map(cellFormat([0.5, -1, 2]))).toEqual(["0.50", "−1.00", "2.00"]);
  expect([0.02, -0.0001].map(cellFormat([0.02, -0.0001]))).toEqual(["0.020", "0.000"]);
  expect(cellFormat([1e-7])(1e-7)).toContain("e−7");
  expect([factorText(2), factorText(-0.5), factorText(-0.5, false), factorText(1.55654)]).toEqual(["2", "−0.5", "(−0.5)", "1.5565"]);
  expect([checkText(3.113), checkText(0), checkText(1e-9)]).toEqual(["3.113000", "0.000000", "1e−9"]);
  expect([decimalText(0.20916, 4), decimalText(0.001, 4)]).toEqual(["0.2092", "0.0010000"]);
  expect([errorText(0), errorText(6e-8), toleranceText(1e-6)]).toEqual(["0", "6.0e−8", "1e−6"]);
});

test.each([
  ["3.113", true, "Right."],
  ["3.11", true, "Right."],
  ["3", false, "No: it is larger."],
  ["−3.113", false, "No: it has the other sign."],
  ["4", false, "No: it is smaller."],
  ["much", false, "That is not a number."],
  ["2 × 1.5565", true, "Right."],
  ["−2*1.5565", false, "No: it has the other sign."],
  ["2 *", false, "That is not a number."],
])("the guess %s is judged", (text, isRight, message) => {
  expect(judged(text, 3.113)).toEqual({ isRight, message });
});

test("nothing is guessed by a nought", () => {
  expect(judged("0", 0).isRight).toBe(true);
  expect(judged("0.2", 0).message).toBe("No: nothing arrives here.");
});
