import { expect, test } from "vitest";
import { parseFilter } from "../../src/ui/run-filter";
import { runWith } from "../run-listings";

const good = runWith({
  id: "1",
  name: "ResNet18-aug",
  comment: "cosine schedule",
  tags: ["vision", "long run"],
  metrics: [
    { name: "train/loss", value: 0.2 },
    { name: "val/acc", value: 0.94 },
    { name: "accident rate", value: 5 },
  ],
  last_step: 1200,
});
const bad = runWith({
  id: "2",
  name: "resnet-lr-0.4",
  state: "died",
  metrics: [
    { name: "train/loss", value: null },
    { name: "val/acc", value: 0.1 },
  ],
  last_step: 70,
});

function found(text: string): string[] {
  const filter = parseFilter(text);
  return [good, bad].filter((run) => filter.matches(run)).map(({ id }) => id);
}

test.each([
  ["", ["1", "2"]],
  ["   ", ["1", "2"]],
  ["resnet", ["1", "2"]],
  ["RESNET aug", ["1"]],
  ["vision", ["1"]],
  ["cosine", ["1"]],
  ["died", ["2"]],
  ["-died", ["1"]],
  ['"long run"', ["1"]],
  ['"run long"', []],
  ["acc>0.9", ["1"]],
  ["acc > 0.9 resnet", ["1"]],
  ["acc>=0.1", ["1", "2"]],
  ["acc<0.5", ["2"]],
  ["acc=0.1", ["2"]],
  ["acc != 0.1", ["1"]],
  ["val/acc>0.9", ["1"]],
  ["loss<1", ["1"]],
  ["loss>1e-3", ["1"]],
  ["step>100", ["1"]],
  ["-acc>0.9", ["2"]],
  ["nothing>0", []],
  ["resnet-lr-0.4", ["2"]],
])("%s", (text, ids) => {
  expect(found(text)).toEqual(ids);
});

test("a metric of just that name counts before others that have it in theirs", () => {
  // "acc" is in "accident rate", too, which is above 4.
  expect(found("acc>4")).toEqual([]);
});

test("a value that is NaN is neither above nor below", () => {
  expect(found("loss<9e9 lr")).toEqual([]);
  expect(found("loss>-9e9 lr")).toEqual([]);
});

test("what cannot be understood is said, and the rest of the filter holds", () => {
  const filter = parseFilter("acc>x aug");
  expect(filter.problem).toBe("x is no number");
  expect([good, bad].filter((run) => filter.matches(run))).toEqual([good]);
  expect(parseFilter("acc>").problem).toContain("number is missing");
  expect(parseFilter("acc>0.9").problem).toBe("");
});

test.each(["(", "[", "\\", "*", "a)(b", "<", ">", "!", "=", '"', "-", "--"])(
  "a lone %s breaks nothing",
  (text) => {
    expect(() => found(text)).not.toThrow();
  },
);
