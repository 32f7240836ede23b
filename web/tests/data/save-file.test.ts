import { expect, test } from "vitest";
import { fileName, toCsv } from "../../src/data/save-file";

test("CSV quotes what would be misread, and doubles quotes", () => {
  expect(toCsv([["a", 'say "hi"', "x,y", "two\nlines"]])).toBe('a,"say ""hi""","x,y","two\nlines"\r\n');
});

test("CSV has no formulas from names, but numbers keep their sign", () => {
  expect(toCsv([["=1+1", "@x", "-x", "-5", -5, true, null]])).toBe("'=1+1,'@x,'-x,-5,-5,true,\r\n");
});

test("what is no number is written as Python reads it", () => {
  expect(toCsv([[NaN, Infinity, -Infinity, 1e-9, -0, 0.1 + 0.2]])).toBe("nan,inf,-inf,1e-9,-0,0.30000000000000004\r\n");
});

test("file names have nothing that a file system refuses", () => {
  expect(fileName(["sweep/first", "val/cat", 2800], "csv")).toBe("sweep-first-val-cat-2800.csv");
  expect(fileName(["../../etc/passwd"], "txt")).toBe("etc-passwd.txt");
  expect(fileName(['a<b>:"|?*'], "png")).toBe("a-b.png");
  expect(fileName(["layer1/0.weight", "step", 3], "npy")).toBe("layer1-0.weight-step-3.npy");
  expect(fileName(["größe"], "npy")).toBe("größe.npy");
  expect(fileName(["…"], "png")).toBe("torcheer.png");
  expect(fileName(["é".repeat(500)], "wav").length).toBeLessThan(130);
});

test("of a long name the end is kept, where the step stands", () => {
  expect(fileName(["x".repeat(500), 2800], "csv")).toMatch(/^x+-2800\.csv$/);
});
