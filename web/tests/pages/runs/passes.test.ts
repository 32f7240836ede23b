import { expect, test } from "vitest";
import { groupPasses } from "../../../src/data/pass-groups";
import { runWith } from "../../run-listings";

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
