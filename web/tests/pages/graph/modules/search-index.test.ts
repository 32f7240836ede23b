import { describe, expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/model";
import { markWords } from "../../../../src/pages/graph/modules/ModulesPanel";
import { SearchIndex } from "../../../../src/pages/graph/modules/search-index";
import { opWith, smallDocument } from "../../../samples";

const document = smallDocument();
const hierarchy = buildHierarchy(document, "unrolled");
const index = new SearchIndex(hierarchy, document);
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
    expect(index.find(query)).toContain(conv);
  });
});

test("hits come in the order the ops ran", () => {
  expect(index.find("16x6")).toEqual([conv, add, hierarchy.nodeOfOp[3]]);
});

test("every word must be there", () => {
  expect(index.find("conv 16x6")).toEqual([conv]);
  expect(index.find("conv add_1_2")).toEqual([]);
});

test("nothing is found for nothing", () => {
  expect(index.find("")).toEqual([]);
  expect(index.find("   ")).toEqual([]);
});

test("a query is text, not a pattern", () => {
  expect(index.find(".*")).toEqual([]);
  expect(index.find("(")).toEqual([]);
});

test("hostile names are found as they are", () => {
  const hostile = smallDocument();
  hostile.ops[2] = opWith({ ...hostile.ops[2]!, label: "<img src=x onerror=alert(1)>" });
  const tree = buildHierarchy(hostile, "unrolled");
  expect(new SearchIndex(tree, hostile).find("<img")).toEqual([tree.nodeOfOp[2]]);
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
