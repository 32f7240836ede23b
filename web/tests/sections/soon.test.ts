// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { go, param, setParams } from "../../src/route";
import { paramSoon, setSoon, settle } from "../../src/sections/soon";

const CALM_MS = 1000;

beforeEach(() => {
  vi.useFakeTimers();
  go("training");
  setParams({ a: null, b: null });
});
afterEach(() => {
  settle();
  vi.useRealTimers();
});

test("a change is seen at once and written when the hand rests", () => {
  for (const value of ["1", "2", "3"]) setSoon({ a: value });
  expect([paramSoon("a"), param("a")]).toEqual(["3", ""]);
  vi.advanceTimersByTime(CALM_MS);
  expect([paramSoon("a"), param("a")]).toEqual(["3", "3"]);
});

test("what is taken away is away at once", () => {
  setParams({ a: "1" });
  setSoon({ a: null });
  expect([paramSoon("a"), param("a")]).toEqual(["", "1"]);
  vi.advanceTimersByTime(CALM_MS);
  expect(param("a")).toBe("");
});

test("what others write meanwhile stays", () => {
  setSoon({ a: "1" });
  setParams({ b: "2" });
  vi.advanceTimersByTime(CALM_MS);
  expect([param("a"), param("b")]).toEqual(["1", "2"]);
});

test("another view gets nothing of it, and neither does this one when it comes back", () => {
  setSoon({ a: "1" });
  go("graph");
  expect(paramSoon("a")).toBe("");
  go("training");
  vi.advanceTimersByTime(CALM_MS);
  expect([paramSoon("a"), param("a")]).toEqual(["", ""]);
});
