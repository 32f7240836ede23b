import { expect, test } from "vitest";
import { rowsInView, scrollFor } from "../../src/ui/scroll";

test("a short list is all there", () => {
  expect(rowsInView(200, 24, 0, 240)).toEqual({ first: 0, end: 200 });
});

test("of a long list the rows in view are there, and only few more", () => {
  for (let top = 0; top <= 5000 * 24 - 240; top += 997) {
    const { first, end } = rowsInView(5000, 24, top, 240);
    expect(first * 24).toBeLessThanOrEqual(top);
    expect(end * 24).toBeGreaterThanOrEqual(top + 240);
    expect(end - first).toBeLessThan(40);
  }
});

test("a list that shrank under its scroll position has valid rows", () => {
  const { first, end } = rowsInView(300, 24, 100_000, 240);
  expect(first).toBeGreaterThanOrEqual(0);
  expect(end).toBeLessThanOrEqual(300);
  expect(end).toBeGreaterThanOrEqual(first);
});

test("a row in view is left where it is, others are brought in", () => {
  expect(scrollFor(5, 24, 0, 240)).toBeNull();
  expect(scrollFor(10, 24, 0, 240)).toBe(24);
  expect(scrollFor(3, 24, 120, 240)).toBe(72);
  const far = scrollFor(4000, 24, 0, 240)!;
  expect(far).toBeLessThan(4000 * 24);
  expect(far + 240).toBeGreaterThan(4001 * 24);
});
