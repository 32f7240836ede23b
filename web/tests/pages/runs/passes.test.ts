import { expect, test } from "vitest";
import { groupPasses } from "../../../src/data/pass-groups";
import { largestOfEach, MAX_BARS, sketchOf } from "../../../src/pages/runs/PassesPart";
import { runWith } from "../../run-listings";
import { documentWith, opWith, smallDocument } from "../../samples";

const runs = new Map([["r", runWith({ id: "r", name: "sweep/first" })]]);
const passOf = (id: string, run_id = "", step: number | null = null, name = "Net") => ({
  id,
  name,
  detail: "",
  run_id,
  step,
});

test("passes of one run and model stand together in the order of their steps; saved ones stand alone", () => {
  const groups = groupPasses(
    [passOf("a"), passOf("r20", "r", 20), passOf("b"), passOf("r3", "r", 3), passOf("other", "r", 5, "Head")],
    runs,
  );
  expect(groups.map(({ passes }) => passes.map(({ id }) => id))).toEqual([
    ["a"],
    ["r3", "r20"],
    ["b"],
    ["other"],
  ]);
  expect(groups[1]!.runName).toBe("sweep/first");
});

test("passes of a run that is not on the list keep its id for a name", () => {
  expect(groupPasses([passOf("x", "gone", 1)], runs)[0]!.runName).toBe("gone");
});

test("a sketch has the size of each op's output, and no inputs or outputs among them", () => {
  const sketch = sketchOf(smallDocument());
  expect(sketch.numOps).toBe(2);
  expect(sketch.sizes).toEqual([576, 576]);
  expect(sketch.inputShape).toEqual([1, 3, 8, 8]);
});

test("of many ops the largest of each few are drawn: a peak is never lost", () => {
  const ops = Array.from({ length: 1000 }, (_, at) =>
    opWith({ kind: "op", shape: at === 777 ? [5000] : [] }),
  );
  const { sizes } = sketchOf(documentWith({ ops }));
  expect(sizes.length).toBeLessThanOrEqual(MAX_BARS);
  expect(Math.max(...sizes)).toBe(5000);
  expect(largestOfEach([], 5)).toEqual([]);
});
