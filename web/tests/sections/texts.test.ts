import { expect, test } from "vitest";
import { toCsv } from "../../src/sections/csv";
import { fileName } from "../../src/sections/saving";
import { niceTicks, shortNumber } from "../../src/sections/ticks";

test("CSV quotes what would be misread, and doubles quotes", () => {
  expect(toCsv([["a", 'say "hi"', "x,y", "two\nlines"]])).toBe('a,"say ""hi""","x,y","two\nlines"\r\n');
});

test("CSV has no formulas from names, but numbers keep their sign", () => {
  expect(toCsv([["=1+1", "@x", "-5", -5, true, null]])).toBe("'=1+1,'@x,'-5,-5,true,\r\n");
});

test("what is no number is written as Python reads it", () => {
  expect(toCsv([[NaN, Infinity, -Infinity, 1e-9]])).toBe("nan,inf,-inf,1e-9\r\n");
});

test("file names have nothing that a file system refuses", () => {
  expect(fileName(["sweep/first", "val/cat", 2800], "csv")).toBe("sweep-first-val-cat-2800.csv");
  expect(fileName(["../../etc/passwd"], "txt")).toBe("etc-passwd.txt");
  expect(fileName(['a<b>:"|?*'], "png")).toBe("a-b.png");
  expect(fileName(["…"], "png")).toBe("torcheer.png");
  expect(fileName(["é".repeat(500)], "wav").length).toBeLessThan(130);
});

test("ticks are round, inside the limits, and about as many as asked", () => {
  expect(niceTicks(0, 64_000, 4)).toEqual([0, 20_000, 40_000, 60_000]);
  expect(niceTicks(-3, 3, 4)).toEqual([-2, 0, 2]);
  expect(niceTicks(0.1, 0.35, 5)).toEqual([0.1, 0.15, 0.2, 0.25, 0.3, 0.35]);
  expect(niceTicks(5, 5, 4)).toEqual([5]);
  expect(niceTicks(NaN, NaN, 4)).toEqual([]);
});

test("short numbers have a unit, a true minus and no useless digits", () => {
  expect([0, 0.25, 999, 16_000, 1_500_000, -2500, 1e-7].map(shortNumber)).toEqual([
    "0",
    "0.25",
    "999",
    "16k",
    "1.5M",
    "\u22122.5k",
    "1e\u22127",
  ]);
});
