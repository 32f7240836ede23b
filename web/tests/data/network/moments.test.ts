import { expect, test } from "vitest";
import { continues, withNews, type MomentList } from "../../../src/data/network/moments";
import { momentsAnswer } from "../../network-samples";

const place = { runId: "a", rank: 0 };

function listOf(steps: number[], parts = {}): MomentList {
  return withNews(null, place, momentsAnswer(steps, parts));
}

test("new moments come after those that are known, with their counters", () => {
  const before = listOf([1, 2], { counters: { epoch: ["0", "0"] } });
  const news = momentsAnswer([3], { is_all: false, counters: { epoch: ["1"], trial: ["9"] }, is_running: true });
  const now = withNews(before, place, news);
  expect(now.moments.map(({ step }) => step)).toEqual([1, 2, 3]);
  expect(now.moments.map(({ counters }) => counters)).toEqual([[["epoch", "0"]], [["epoch", "0"]], [["epoch", "1"], ["trial", "9"]]]);
  expect(now.isRunning).toBe(true);
});

test("a moment that comes late stands at its step, and one that comes again takes its place", () => {
  const before = listOf([1, 5], { counters: { name: ["one", "five"] } });
  const news = momentsAnswer([3, 5], { is_all: false, times: [30, 50], counters: { name: ["three", "anew"] } });
  const now = withNews(before, place, news);
  const counted = (step: number, time: number, name: string) => ({ step, time, counters: [["name", name]] });
  expect(now.moments).toEqual([counted(1, 1.5, "one"), counted(3, 30, "three"), counted(5, 50, "anew")]);
});

test("all anew forgets what there was; the ranges are those that were said last", () => {
  const range = (low: number) => [{ variable: "Act", low, high: 1 }];
  const before = listOf([1, 2], { ranges: range(-1) });
  expect(withNews(before, place, momentsAnswer([7])).moments.length).toBe(1);
  expect(withNews(before, place, momentsAnswer([7])).ranges.size).toBe(0);
  const now = withNews(before, place, momentsAnswer([], { is_all: false, ranges: range(-3) }));
  expect(now.ranges.get("Act")).toEqual({ low: -3, high: 1 });
  expect(now.moments.length).toBe(2);
});

test("a list goes on where all that was known is still there", () => {
  const before = listOf([1, 2]);
  expect(continues(listOf([1, 2, 3]), before)).toBe(true);
  expect(continues(listOf([1, 3]), before)).toBe(false);
  expect(continues(listOf([1]), before)).toBe(false);
  expect(continues(listOf([1, 2], { times: [1.5, 99] }), before)).toBe(false);
  expect(continues({ ...listOf([1, 2]), runId: "b" }, before)).toBe(false);
  expect(continues(before, null)).toBe(false);
});
