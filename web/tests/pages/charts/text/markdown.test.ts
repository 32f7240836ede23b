import { describe, expect, test } from "vitest";
import { parseInlines, type Inline } from "../../../../src/pages/charts/text/inlines";
import { parseMarkdown, type Block } from "../../../../src/pages/charts/text/markdown";

/** The words of a tree, whatever their marks. */
function textOf(inlines: readonly Inline[]): string {
  return inlines
    .map((inline) => {
      if (inline.kind === "text" || inline.kind === "code") return inline.text;
      return inline.kind === "break" ? "\n" : textOf(inline.inside);
    })
    .join("");
}

const kinds = (source: string): string[] => parseMarkdown(source).map(({ kind }) => kind);

describe("blocks", () => {
  test("headings have their level and lose their marks", () => {
    const blocks = parseMarkdown("# One\n\n### Three ###\n#nothing");
    expect(blocks.map((one) => (one.kind === "heading" ? one.level : one.kind))).toEqual([1, 3, "paragraph"]);
    expect(blocks[1]).toMatchObject({ inside: [{ kind: "text", text: "Three" }] });
  });

  test("a paragraph goes on over lines and ends at a blank one", () => {
    expect(parseMarkdown("one\ntwo\n\nthree")).toEqual([
      { kind: "paragraph", inside: [{ kind: "text", text: "one two" }] },
      { kind: "paragraph", inside: [{ kind: "text", text: "three" }] },
    ]);
  });

  test("code keeps every character, also of marks and tags", () => {
    expect(parseMarkdown("```python\nx = **2**\n\n<b>\n```\nafter")[0]).toEqual({
      kind: "code",
      language: "python",
      text: "x = **2**\n\n<b>",
    });
    expect(parseMarkdown("~~~\nnever closed")).toEqual([
      { kind: "code", language: "", text: "never closed" },
    ]);
    expect(parseMarkdown("    set in\n    more")).toEqual([
      { kind: "code", language: "", text: "set in\nmore" },
    ]);
  });

  test("lists hold lists, and numbers begin where they say", () => {
    const [list] = parseMarkdown("- one\n- two\n  - inner\n  - other\n- three") as [
      Extract<Block, { kind: "list" }>,
    ];
    expect(list.items).toHaveLength(3);
    expect(list.items[1]![1]).toMatchObject({ kind: "list", items: [{}, {}] });
    expect(parseMarkdown("3. three\n4. four")[0]).toMatchObject({
      isOrdered: true,
      start: 3,
      items: [{}, {}],
    });
  });

  test("items with blank lines between them are one list", () => {
    expect(kinds("- one\n\n- two\n\nafter")).toEqual(["list", "paragraph"]);
  });

  test("a table has a head, rows as long as it, and its sides", () => {
    const [table] = parseMarkdown("| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 |\n\nafter") as [
      Extract<Block, { kind: "table" }>,
    ];
    expect(table.aligns).toEqual(["left", "right"]);
    expect(table.rows.map((row) => row.map(textOf))).toEqual([
      ["a", "b"],
      ["1", "2"],
      ["3", ""],
    ]);
  });

  test("a row of spaces that was made to last ends", () =>
    expect(kinds(`a | b\n--${" ".repeat(1_000_000)}x`)).toEqual(["paragraph"]));

  test("a bar alone makes no table", () => expect(kinds("a | b\nc")).toEqual(["paragraph"]));

  test("quotes hold blocks, rules are rules", () => {
    expect(parseMarkdown("> # in\n> text\n\n---")).toMatchObject([
      { kind: "quote", blocks: [{ kind: "heading" }, { kind: "paragraph" }] },
      { kind: "rule" },
    ]);
  });

  test("lines may end in any way", () => {
    expect(kinds("# a\r\n\r\nb\rc")).toEqual(["heading", "paragraph"]);
  });
});

describe("inside a line", () => {
  test("strong, emphasis, struck and code", () => {
    expect(parseInlines("a **b** *c* ~~d~~ `e*`").map(({ kind }) => kind)).toEqual([
      "text",
      "strong",
      "text",
      "emphasis",
      "text",
      "struck",
      "text",
      "code",
    ]);
  });

  test("marks may stand inside each other", () => {
    expect(parseInlines("**a *b* c**")).toEqual([
      {
        kind: "strong",
        inside: [
          { kind: "text", text: "a " },
          { kind: "emphasis", inside: [{ kind: "text", text: "b" }] },
          { kind: "text", text: " c" },
        ],
      },
    ]);
  });

  test("a name with underscores stays a name, and 2 * 3 * 4 a product", () => {
    expect(parseInlines("batch_norm_1 and 2 * 3 * 4")).toEqual([
      { kind: "text", text: "batch_norm_1 and 2 * 3 * 4" },
    ]);
  });

  test("marks that do not end are text", () => {
    for (const text of ["**a", "`a", "a*", "[a](b", "[a]"])
      expect(parseInlines(text)).toEqual([{ kind: "text", text }]);
  });

  test("what is escaped is text", () => expect(textOf(parseInlines("\\*a\\*"))).toBe("*a*"));

  test("links and pictures keep their address as text", () => {
    const link = { kind: "link", inside: [{ kind: "text", text: "here" }] };
    expect(parseInlines("[here](javascript:alert(1))")[0]).toMatchObject({
      ...link,
      address: "javascript:alert(1)",
    });
    expect(parseInlines('![here](http://x/y.png "title")')).toEqual([{ ...link, address: "http://x/y.png" }]);
  });

  test("HTML is text", () => {
    const source = "<img src=x onerror=alert(1)> <script>x</script>";
    expect(parseInlines(source)).toEqual([{ kind: "text", text: source }]);
  });

  test("two blanks at the end of a line break it", () => {
    expect(parseInlines("a  \nb").map(({ kind }) => kind)).toEqual(["text", "break", "text"]);
  });
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
  "- ".repeat(5_000) + "deep",
  "|".repeat(20_000) + "\n" + "|-".repeat(10_000),
  " ".repeat(20_000) + "x",
  "- a\n\n".repeat(5_000),
];

test("hostile text is read to its end", () => {
  for (const source of HOSTILE) expect(Array.isArray(parseMarkdown(source))).toBe(true);
});
