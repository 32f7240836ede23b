import { expect, test } from "vitest";
import { formatAgo, formatDuration } from "../../src/ui/times";

const plain = (text: string): string => text.replaceAll("\u202f", " ");

test.each([
  [0, "0.0 s"],
  [0.44, "0.4 s"],
  [9.949, "9.9 s"],
  [9.96, "10 s"],
  [41, "41 s"],
  [99.6, "2 min"],
  [180, "3 min"],
  [3570, "1 h 00 min"],
  [4380, "1 h 13 min"],
  [41_400, "11 h 30 min"],
  [172_799, "2 d 0 h"],
  [1e6, "11 d 14 h"],
  [-5, "–"],
  [NaN, "–"],
  [Infinity, "–"],
])("%d seconds are %s", (seconds, text) => {
  expect(plain(formatDuration(seconds))).toBe(text);
});

const noon = new Date(2026, 9, 20, 12, 0, 0).getTime() / 1000;

test.each([
  [noon, "now"],
  [noon + 30, "now"],
  [noon - 12, "12 s ago"],
  [noon - 300, "5 min ago"],
  [noon - 2 * 3600, "2 h ago"],
  [noon - 13 * 3600, "yesterday"],
  [noon - 30 * 3600, "yesterday"],
  [noon - 3 * 86_400, "3 days ago"],
  [new Date(2026, 8, 2, 9).getTime() / 1000, "2 Sep"],
  [new Date(2024, 0, 31).getTime() / 1000, "31 Jan 2024"],
  [NaN, "–"],
])("seen from noon, %d is %s", (when, text) => {
  expect(plain(formatAgo(when, noon))).toBe(text);
});

test("what was an hour before midnight is an hour ago, not yesterday, just after it", () => {
  const justAfter = new Date(2026, 9, 20, 0, 30).getTime() / 1000;
  expect(plain(formatAgo(justAfter - 5400, justAfter))).toBe("1 h ago");
});
