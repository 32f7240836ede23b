import { expect, test } from "vitest";
import {
  colourStep,
  describePlace,
  matrixRows,
  matrixWith,
  readMatrix,
} from "../../../../src/pages/charts/evaluation/RunMatrix";
import type { RecordListing } from "../../../../src/wire";

const matrix = matrixWith(["cat", "dog", "<b>"], new Float64Array([80, 38, 2, 10, 90, 0, 0, 0, 0]));

test("a cell says what was read as what", () => {
  expect(describePlace(matrix, { row: 0, column: 1 }, false)).toBe("cat read as dog: 38");
  expect(describePlace(matrix, { row: 1, column: 1 }, false)).toBe("dog read as itself: 90");
  expect(describePlace(matrix, { row: 1, column: 0 }, true)).toBe("dog read as cat: 10.0\u202f% (10)");
});

test("per cent are of the true class; a class without examples has none", () => {
  expect(matrix.percents[4]).toBe(90);
  expect(matrix.percents[8]).toBe(0);
});

test("what is not nought never has the colour of nought, and the most has the last", () => {
  expect(colourStep(0, 90)).toBe(0);
  expect(colourStep(0.001, 90)).toBe(1);
  expect(colourStep(90, 90)).toBe(9);
  expect(colourStep(5, 0)).toBe(0);
});

test("accuracy is the share of the diagonal", () => {
  expect(matrix.accuracy).toBeCloseTo(170 / 220);
  expect(matrixWith(["a"], new Float64Array([0])).accuracy).toBeNaN();
});

test("a matrix that is not square is refused", () => {
  const entry: RecordListing = {
    record: "rank-0:1",
    step: 0,
    time: 0,
    num_bytes: 24,
    head: { kind: "confusion", labels: ["a", "b"] },
  };
  expect(() => readMatrix({ entry, bytes: new Uint8Array(24) })).toThrow(/damaged/);
});

test("the CSV has the true classes down and what was said across", () => {
  expect(matrixRows(matrix)[0]).toEqual(["true \\ read as", "cat", "dog", "<b>"]);
  expect(matrixRows(matrix)[1]).toEqual(["cat", 80, 38, 2]);
});
