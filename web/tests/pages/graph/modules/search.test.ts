import { describe, expect, test } from "vitest";
import * as store from "../../../../src/data/store";
import type { PassDocument } from "../../../../src/wire";
import { markWords } from "../../../../src/pages/graph/modules/ModulesPanel";
import { hits, search } from "../../../../src/pages/graph/modules/search";
import { opWith, smallDocument } from "../../../samples";

/** What is found in a pass for a query. */
function find(query: string, document: PassDocument = smallDocument()): readonly string[] {
  store.showPass(document, "");
  search(query);
  return hits.value;
}

store.showPass(smallDocument(), "");
const hierarchy = store.hierarchy.value!;
const conv = hierarchy.nodeOfOp[1]!;
const add = hierarchy.nodeOfOp[2]!;

describe("a node is found by", () => {
  test.each([
    ["its label", "conv2d_1_1"],
    ["its module's address", "features.conv"],
    ["its class, in any case", "CONV2D"],
    ["its shape with crosses", "1×16×6×6"],
    ["its shape with the letter x", "16x6x6"],
    ["its shape as Python writes it", "16, 6, 6"],
    ["its weight", "features.conv.weight"],
  ])("%s", (_what, query) => {
    expect(find(query)).toContain(conv);
  });
});

test("hits come in the order the ops ran", () => {
  expect(find("16x6")).toEqual([conv, add, hierarchy.nodeOfOp[3]]);
});

test("every word must be there", () => {
  expect(find("conv 16x6")).toEqual([conv]);
  expect(find("conv add_1_2")).toEqual([]);
});

test("nothing is found for nothing", () => {
  expect(find("")).toEqual([]);
  expect(find("   ")).toEqual([]);
});

test("a query is text, not a pattern", () => {
  expect(find(".*")).toEqual([]);
  expect(find("(")).toEqual([]);
});

test("hostile names are found as they are", () => {
  const hostile = smallDocument();
  hostile.ops[2] = opWith({ ...hostile.ops[2]!, label: "<img src=x onerror=alert(1)>" });
  expect(find("<img", hostile)).toEqual([add]);
});

test("marks cut a text without changing it", () => {
  for (const [text, query] of [
    ["layer1.0.conv2", "conv 1"],
    ["aaaa", "aa"],
    ["İstanbul", "s"],
    ["", "x"],
    ["abc", ""],
  ] as const) {
    expect(
      markWords(text, query)
        .map((part) => part.text)
        .join(""),
    ).toBe(text);
  }
  expect(markWords("conv2d", "nv").filter((part) => part.isMarked)).toEqual([{ text: "nv", isMarked: true }]);
});
