import { expect, test } from "vitest";
import { AnswerCache } from "../../src/data/source";
import { viewOf } from "../samples";

const tensor = (size: number) => ({
  view: viewOf([size], { num_columns: size }),
  values: new Float32Array(size),
});

test("what was not used for longest goes first, and the budget holds", () => {
  const cache = new AnswerCache(40);
  cache.set("a", tensor(4));
  cache.set("b", tensor(4));
  cache.get("a");
  cache.set("c", tensor(4));
  expect(cache.get("b")).toBeUndefined();
  expect(cache.get("a")).toBeDefined();
  expect(cache.get("c")).toBeDefined();
});

test("one answer larger than the budget is kept until the next", () => {
  const cache = new AnswerCache(8);
  cache.set("large", tensor(100));
  expect(cache.get("large")).toBeDefined();
  cache.set("next", tensor(1));
  expect(cache.get("large")).toBeUndefined();
});

test("setting a key anew does not count it twice", () => {
  const cache = new AnswerCache(40);
  for (let time = 0; time < 20; time++) cache.set("a", tensor(4));
  cache.set("b", tensor(4));
  expect(cache.get("a")).toBeDefined();
});
