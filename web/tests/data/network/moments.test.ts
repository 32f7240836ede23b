import { expect, test } from "vitest";
import { withNews, type MomentList } from "../../../src/data/network/moments";
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

test("all anew forgets what there was; the ranges are those that were said last", () => {
  const range = (low: number) => [{ variable: "Act", low, high: 1 }];
  const before = listOf([1, 2], { ranges: range(-1) });
  expect(withNews(before, place, momentsAnswer([7])).moments.length).toBe(1);
  expect(withNews(before, place, momentsAnswer([7])).ranges.size).toBe(0);
  const now = withNews(before, place, momentsAnswer([], { is_all: false, ranges: range(-3) }));
  expect(now.ranges.get("Act")).toEqual({ low: -3, high: 1 });
  expect(now.moments.length).toBe(2);
});
