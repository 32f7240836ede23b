/** The words of the small chart. */
import { expect, test } from "vitest";
import { describeSpark } from "../../../src/pages/runs/columns";

test("says the last value as the table does, and that the first is a mean", () => {
  expect(describeSpark("train/loss", [0.2083, 0.004981], 0.004951)).toBe("train/loss, from about 0.208 to 0.00495");
  expect(describeSpark("size", [11_600.4, 11_590], 11_588)).toBe("size, from about 11\u202f600 to 11\u202f588");
});

test("says that the last value is no number, or that nobody knows it", () => {
  expect(describeSpark("loss", [1, 2], null)).toBe("loss, from about 1 to NaN");
  expect(describeSpark("loss", [1, 2], undefined)).toBe("loss, from about 1 to about 2");
});
