import { describe, expect, it } from "vitest";
import { globTest, searchTest } from "../../src/data/globs";

/** Every text of up to so many letters. */
function textsOf(letters: string, longest: number): string[] {
  const all = [""];
  for (let start = 0, length = 1; length <= longest; length++) {
    const end = all.length;
    for (; start < end; start++) for (const letter of letters) all.push(all[start]! + letter);
  }
  return all;
}

/** The definition, tried out in every way: what the fast one is held against. */
function isMatch(glob: string, text: string): boolean {
  if (glob === "") return text === "";
  const [sign, rest] = [glob.charAt(0), glob.slice(1)];
  if (sign === "*") return isMatch(rest, text) || (text !== "" && isMatch(glob, text.slice(1)));
  return text !== "" && (sign === "?" || sign === text.charAt(0)) && isMatch(rest, text.slice(1));
}

describe("globTest", () => {
  it("agrees with the definition on all short globs and texts", () => {
    const texts = textsOf("ab", 5);
    for (const glob of textsOf("ab*?", 5)) {
      const test = globTest([glob]);
      const wrong = texts.filter((text) => test(text) !== isMatch(glob, text));
      expect([glob, wrong]).toEqual([glob, []]);
    }
  });

  it("takes a backslash's next character, and all signs of regular expressions, as they are", () => {
    expect(globTest(["a\\*b"])("a*b")).toBe(true);
    expect(globTest(["a\\*b"])("axb")).toBe(false);
    expect(globTest(["(a|b)+[c]."])("(a|b)+[c].")).toBe(true);
    expect(globTest(["a\\"])("a\\")).toBe(true);
  });

  it("counts a character of two code units as one", () => {
    expect(globTest(["?"])("\u{1f525}")).toBe(true);
    expect(globTest(["??"])("\u{1f525}")).toBe(false);
  });

  it("passes with any of several, and with none of none", () => {
    expect(["x", "ab", "b"].map(globTest(["a*", "b"]))).toEqual([false, true, true]);
    expect(globTest([])("")).toBe(false);
  });

  it("ends on names and globs that were made to last", () => {
    // Each of these takes hours where every way is tried.
    const name = "a".repeat(4000);
    expect(globTest([`${"*a".repeat(200)}*b`])(name)).toBe(false);
    expect(globTest([`${"*a?a".repeat(100)}*b*`])(name)).toBe(false);
  });
});

describe("searchTest", () => {
  const found = (query: string): string[] => ["train/loss", "train/acc", "val/loss", "a|b(c"].filter(searchTest(query));

  it("finds a part, in any case of letters", () => {
    expect(found("LOSS")).toEqual(["train/loss", "val/loss"]);
    expect(found("")).toHaveLength(4);
  });

  it("knows beginnings, ends, wildcards and alternatives", () => {
    expect(found("^train")).toEqual(["train/loss", "train/acc"]);
    expect(found("acc$")).toEqual(["train/acc"]);
    expect(found("^t*loss$|^val")).toEqual(["train/loss", "val/loss"]);
    expect(found("t.*ss")).toEqual(["train/loss"]);
    expect(found("?al/")).toEqual(["val/loss"]);
    expect(found("acc|")).toEqual(["train/acc"]);
  });

  it("takes signs as they are where a backslash says so, or where they mean nothing", () => {
    expect(found("a\\|b")).toEqual(["a|b(c"]);
    expect(found("(c")).toEqual(["a|b(c"]);
    expect(found("(a+)+$")).toEqual([]);
  });

  it("ends on a query that would hang a regular expression", () => {
    expect(searchTest("(a|a)*b$")("a".repeat(4000))).toBe(false);
    expect(searchTest(`${"a*".repeat(200)}b`)("a".repeat(4000))).toBe(false);
  });
});
