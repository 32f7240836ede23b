import { describe, expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { counterparts } from "../../../../src/data/pass/edges";
import { loop } from "../../../pass-documents";

describe("from one form to the other", () => {
  const [unrolled, rolled] = [buildHierarchy(loop(), "unrolled"), buildHierarchy(loop(), "rolled")];

  test("an op of any pass is its layer, and a layer is all of its passes", () => {
    expect(counterparts(unrolled, rolled, "o9")).toEqual(["o3"]);
    expect(counterparts(rolled, unrolled, "o3")).toEqual(["o3", "o6", "o9"]);
  });

  test("calls of a module are one group, and that group is all of its calls", () => {
    expect(counterparts(unrolled, rolled, "s5")).toEqual(["s1"]);
    expect(counterparts(rolled, unrolled, "s1")).toEqual(["s1", "s3", "s5"]);
  });

  test("what is not there has none", () => {
    expect(counterparts(unrolled, rolled, "s99")).toEqual([]);
  });
});
