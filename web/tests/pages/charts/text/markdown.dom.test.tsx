// @vitest-environment happy-dom
import { render } from "preact";
import { describe, expect, test } from "vitest";
import { Markdown } from "../../../../src/pages/charts/text/Markdown";

/** What is shown of a source. */
function shown(source: string): HTMLElement {
  const box = document.createElement("div");
  render(<Markdown source={source} />, box);
  return box.querySelector<HTMLElement>(".sec-markdown")!;
}

const tags = (source: string): string[] => [...shown(source).children].map(({ tagName }) => tagName.toLowerCase());
const texts = (box: ParentNode, selector: string): (string | null)[] =>
  [...box.querySelectorAll(selector)].map(({ textContent }) => textContent);

describe("blocks", () => {
  test("headings have their level and lose their marks", () => {
    const box = shown("# One\n\n### Three ###\n#nothing");
    expect([...box.querySelectorAll("[role=heading]")].map((one) => [one.textContent, one.getAttribute("aria-level")])).toEqual([
      ["One", "4"],
      ["Three", "6"],
    ]);
    expect(texts(box, "p")).toEqual(["#nothing"]);
  });

  test("a paragraph goes on over lines and ends at a blank one", () =>
    expect(texts(shown("one\ntwo\n\nthree"), "p")).toEqual(["one\ntwo", "three"]));

  test("code keeps every character, also of marks and tags", () => {
    expect(texts(shown("```python\nx = **2**\n\n<b>\n```\nafter"), "pre")).toEqual(["x = **2**\n\n<b>"]);
    expect(texts(shown("~~~\nnever closed"), "pre")).toEqual(["never closed"]);
    expect(texts(shown("    set in\n    more"), "pre")).toEqual(["set in\nmore"]);
  });

  test("lists hold lists, and numbers begin where they say", () => {
    const box = shown("- one\n- two\n  - inner\n  - other\n- three");
    expect(box.firstElementChild?.children).toHaveLength(3);
    expect(texts(box, "ul ul > li")).toEqual(["inner", "other"]);
    expect(shown("3. three\n4. four").querySelector("ol")?.getAttribute("start")).toBe("3");
  });

  test("items with blank lines between them are one list", () => {
    expect(tags("- one\n\n- two\n\nafter")).toEqual(["ul", "p"]);
    expect(shown("- one\n\n- two").querySelector("li p")).toBeNull();
  });

  test("a table has a head, rows as long as it, and its sides", () => {
    const box = shown("| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 |\n\nafter");
    expect(texts(box, "th")).toEqual(["a", "b"]);
    expect(texts(box, "td")).toEqual(["1", "2", "3", ""]);
    expect([...box.querySelectorAll("th")].map(({ style }) => style.textAlign)).toEqual(["left", "right"]);
  });

  test("a row of spaces that was made to last ends", () => expect(tags(`a | b\n--${" ".repeat(1_000_000)}x`)).toEqual(["p"]));

  test("a bar alone makes no table", () => expect(tags("a | b\nc")).toEqual(["p"]));

  test("quotes hold blocks, rules are rules", () => {
    expect(tags("> # in\n> text\n\n---")).toEqual(["blockquote", "hr"]);
    expect(texts(shown("> # in\n> text"), "blockquote > *")).toEqual(["in", "text"]);
  });

  test("lines may end in any way", () => expect(tags("# a\r\n\r\nb\rc")).toEqual(["div", "p"]));
});

describe("inside a line", () => {
  test("strong, emphasis, struck and code, also inside each other", () => {
    const box = shown("a **b** *c* ~~d~~ `e*`");
    expect(box.textContent).toBe("a b c d e*");
    expect(["b", "em", "s", "code"].map((tag) => texts(box, tag))).toEqual([["b"], ["c"], ["d"], ["e*"]]);
    expect(texts(shown("**a *b* c**"), "b, b em")).toEqual(["a b c", "b"]);
  });

  test("names with underscores, products, and marks that do not end are text", () => {
    for (const text of ["batch_norm_1 and 2 * 3 * 4", "**a", "`a", "a*", "[a](b", "[a]"]) {
      expect(shown(text).querySelector("p")?.children).toHaveLength(0);
      expect(shown(text).textContent).toBe(text);
    }
  });

  test("what is escaped is text", () => expect(shown("\\*a\\*").textContent).toBe("*a*"));

  test("links and pictures keep their address as text, and open nothing", () => {
    const box = shown('[here](javascript:alert(1)) ![there](http://x/y.png "title") [in][1]\n\n[1]: javascript:2');
    expect(box.querySelector("a, img, [href], [src]")).toBeNull();
    expect(texts(box, ".md-link")).toEqual(["here (javascript:alert(1))", "there (http://x/y.png)", "in (javascript:2)"]);
    const alone = shown("see https://x.y");
    expect([alone.textContent, alone.querySelector("a")]).toEqual(["see https://x.y", null]);
  });

  test("HTML is text, in a line and as a block", () => {
    for (const source of ["a <img src=x onerror=alert(1)> <b>x</b>", "<script>x</script>", "<div onclick=x>\n\nb"]) {
      const box = shown(source);
      expect(box.querySelector("img, script, b, div")).toBeNull();
      expect(box.textContent.replaceAll("\n", "")).toBe(source.replaceAll("\n", ""));
    }
  });

  test("two blanks at the end of a line break it", () => expect(shown("a  \nb").querySelectorAll("br")).toHaveLength(1));
});

/** Text that was made to be slow to read, or deep. */
const HOSTILE = [
  "*".repeat(20_000),
  "**a".repeat(7_000),
  "_a_b".repeat(5_000),
  "`".repeat(20_000),
  "``a`".repeat(5_000),
  "[".repeat(20_000),
  "[a](".repeat(5_000),
  "> ".repeat(5_000) + "deep",
  "> ".repeat(500) + "deep",
  "- ".repeat(5_000) + "deep",
  "- ".repeat(500) + "deep",
  "**a *b ".repeat(500) + "* **".repeat(500),
  "|".repeat(20_000) + "\n" + "|-".repeat(10_000),
  " ".repeat(20_000) + "x",
  "- a\n\n".repeat(5_000),
];

test("hostile text is read to its end", { timeout: 60_000 }, () => {
  for (const source of HOSTILE) expect(shown(source).childNodes.length).toBeGreaterThan(0);
});
