import { describe, expect, test } from "vitest";
import {
  formatBytes,
  formatClock,
  formatCount,
  formatExact,
  formatLarge,
  formatSeconds,
  formatShape,
  formatShare,
  formatValue,
  gridFormat,
  groupDigits,
} from "../../src/data/format";

const THIN = "\u202f";

test("digits are grouped by three from five digits on, with a space that never breaks", () => {
  expect(formatCount(100352)).toBe(`100${THIN}352`);
  expect(formatCount(1234)).toBe("1234");
  expect(formatCount(-12345678)).toBe(`\u221212${THIN}345${THIN}678`);
});

test("a seed of 64 bits keeps all of its digits", () => {
  expect(groupDigits("16138825459553524634").replaceAll(THIN, "")).toBe("16138825459553524634");
});

describe("a figure", () => {
  test.each([
    [0, "0"],
    [0.0253, "0.02530"],
    [-3.4214, "\u22123.421"],
    [12.3456, "12.35"],
    [0.00001234, "1.234e\u22125"],
    [-1.5e-9, "\u22121.5e\u22129"],
    [12345678, "1.235e7"],
    [100352, `100${THIN}352`],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "\u221e"],
    [Number.NEGATIVE_INFINITY, "\u2212\u221e"],
  ])("%d reads %s", (value, text) => {
    expect(formatValue(value)).toBe(text);
  });

  test("never has a hyphen for a minus", () => {
    for (const value of [-1, -0.5, -1e-12, -1e12, -123.456]) expect(formatValue(value)).not.toContain("-");
  });
});

test("an exact value of four bytes is the shortest text that gives it back", () => {
  for (const value of [0.1, 1 / 3, 1e-7, 123456.789, 3.4e38, 1.17549435e-38]) {
    const kept = Math.fround(value);
    const text = formatExact(kept, "f4").replaceAll("\u2212", "-");
    expect(Math.fround(Number(text))).toBe(kept);
    expect(text.replace(/e.*|[^0-9]/g, "").length).toBeLessThanOrEqual(10);
  }
  expect(formatExact(Math.fround(0.1), "f4")).toBe("0.1");
});

test("an exact value of eight bytes keeps every digit", () => {
  expect(formatExact(0.1 + 0.2, "f8")).toBe("0.30000000000000004");
  expect(formatExact(-9007199254740991, "f8")).toBe("\u22129007199254740991");
});

describe("the cells of a grid", () => {
  const shown = (numbers: number[], most: number): string[] =>
    numbers.map(gridFormat(numbers, (text) => text.length <= most));

  test.each([
    [[1.464, -0.3218, -0.001, 0], 6, ["1.46", "\u22120.32", "0.00", "0"]],
    [[0.0473, -0.012], 9, ["0.0473", "\u22120.0120"]],
    [[0.0473, -0.012], 6, ["0.047", "\u22120.012"]],
    [[38, -2, 0], 6, ["38", "\u22122", "0"]],
    [[3e-9, -2e-9], 7, ["3.0e\u22129", "\u22122.0e\u22129"]],
    [[3e-9, -2e-9], 6, ["3e\u22129", "\u22122e\u22129"]],
    [[12345678, -1], 6, ["1.2e7", "\u22121.0e0"]],
    [[Number.NaN, Number.NEGATIVE_INFINITY, 0.5], 6, ["NaN", "\u2212\u221e", "0.500"]],
  ])("%j in %d letters", (numbers, most, texts) => {
    expect(shown(numbers, most)).toEqual(texts);
  });

  test("fit where anything fits, however large or small", () => {
    for (let exponent = -44; exponent <= 38; exponent++) {
      for (const text of shown([-1.23456 * 10 ** exponent, 0.4 * 10 ** exponent], 7)) {
        expect(text.length).toBeLessThanOrEqual(7);
        expect(text).toMatch(/^\u2212?[0-9]/);
      }
    }
  });
});

test("bytes, counts and times take the unit that leaves few digits", () => {
  expect(formatBytes(8)).toBe(`8${THIN}B`);
  expect(formatBytes(401408)).toBe(`392.0${THIN}KB`);
  expect(formatBytes(1_048_576)).toBe(`1.0${THIN}MB`);
  expect(formatLarge(11689512)).toBe(`11.69${THIN}M`);
  expect(formatLarge(9999)).toBe("9999");
  expect(formatLarge(999_960_000)).toBe(`1.000${THIN}G`);
  expect(formatSeconds(0.01183)).toBe(`11.8${THIN}ms`);
  expect(formatSeconds(0.000018)).toBe(`18.0${THIN}µs`);
  expect(formatSeconds(2.5)).toBe(`2.50${THIN}s`);
});

test("a share that is not nought never reads as nought, nor nearly all as all", () => {
  expect(formatShare(0, 100)).toBe(`0.0${THIN}%`);
  expect(formatShare(1, 1_000_000)).toBe(`<0.1${THIN}%`);
  expect(formatShare(999_999, 1_000_000)).toBe(`>99.9${THIN}%`);
  expect(formatShare(100, 100)).toBe(`100.0${THIN}%`);
  expect(formatShare(0, 0)).toBe("none");
});

test("shapes are written with a true cross, and a scalar says so", () => {
  expect(formatShape([1, 128, 28])).toBe("1×128×28");
  expect(formatShape([])).toBe("scalar");
});

test("a time of day has two digits everywhere", () => {
  expect(formatClock(new Date(2024, 0, 1, 4, 2, 9).getTime())).toBe("04:02:09");
});
