/** Markdown as a tree of blocks: headings, lists, code, quotes, tables, paragraphs. There is no HTML in it. */
import { parseInlines, type Inline } from "./inlines";

export type Align = "left" | "right" | "center";

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly inside: readonly Inline[] }
  | { readonly kind: "paragraph"; readonly inside: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | {
      readonly kind: "list";
      readonly isOrdered: boolean;
      readonly start: number;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly kind: "table";
      readonly aligns: readonly Align[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly kind: "rule" };

const MAX_DEPTH = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)(.*)$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( +)(.*)|)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
// Spaces are in one place only: where two could take them a long row of them takes the square of its length.
const DIVIDER = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*(?:\| *)?$/;

export function parseMarkdown(source: string, depth = 0): Block[] {
  return new BlockScanner(source.replace(/\r\n?/g, "\n").replaceAll("\t", "    ").split("\n"), depth).all();
}

class BlockScanner {
  readonly #lines: readonly string[];
  readonly #depth: number;
  readonly #blocks: Block[] = [];
  #paragraph: string[] = [];
  #at = 0;

  constructor(lines: readonly string[], depth: number) {
    this.#lines = lines;
    this.#depth = depth;
  }

  all(): Block[] {
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at]!;
      if (line.trim() === "") {
        this.#endParagraph();
        this.#at += 1;
      } else if (!this.#takeBlock(line)) {
        this.#paragraph.push(line.trimStart());
        this.#at += 1;
      }
    }
    this.#endParagraph();
    return this.#blocks;
  }

  #takeBlock(line: string): boolean {
    return (
      this.#takeFence(line) ||
      this.#takeHeading(line) ||
      this.#takeRule(line) ||
      this.#takeQuote(line) ||
      this.#takeList(line) ||
      this.#takeTable(line) ||
      this.#takeIndented(line)
    );
  }

  #takeFence(line: string): boolean {
    const match = FENCE.exec(line);
    if (match === null) return false;
    const [, fence = "", language = ""] = match;
    let end = this.#at + 1;
    while (end < this.#lines.length && !isFenceEnd(this.#lines[end]!, fence)) end += 1;
    this.#put({ kind: "code", language, text: this.#lines.slice(this.#at + 1, end).join("\n") }, end + 1);
    return true;
  }

  #takeHeading(line: string): boolean {
    const match = HEADING.exec(line);
    if (match === null) return false;
    const text = (match[2] ?? "").trimEnd().replace(/(?:^| )#+$/, "");
    this.#put({ kind: "heading", level: match[1]!.length, inside: parseInlines(text) }, this.#at + 1);
    return true;
  }

  #takeRule(line: string): boolean {
    if (!RULE.test(line)) return false;
    this.#put({ kind: "rule" }, this.#at + 1);
    return true;
  }

  #takeQuote(line: string): boolean {
    if (this.#depth >= MAX_DEPTH || !QUOTE.test(line)) return false;
    const inner: string[] = [];
    let end = this.#at;
    for (let match = QUOTE.exec(line); match !== null; match = QUOTE.exec(this.#lines[++end] ?? ""))
      inner.push(match[1] ?? "");
    this.#put({ kind: "quote", blocks: parseMarkdown(inner.join("\n"), this.#depth + 1) }, end);
    return true;
  }

  #takeList(line: string): boolean {
    const first = ITEM.exec(line);
    if (first === null || this.#depth >= MAX_DEPTH) return false;
    const isOrdered = /^\d/.test(first[2]!);
    // A paragraph that happens to hold a year at the start of a line is no list.
    if (this.#paragraph.length > 0 && (isOrdered || first[4] === undefined)) return false;
    const items: Block[][] = [];
    let at = this.#at;
    for (
      let match: RegExpExecArray | null = first;
      match !== null;
      match = ITEM.exec(this.#lines[at] ?? "")
    ) {
      if (/^\d/.test(match[2]!) !== isOrdered || RULE.test(this.#lines[at]!)) break;
      const [end, inner] = this.#itemLines(at, match);
      items.push(parseMarkdown(inner.join("\n"), this.#depth + 1));
      at = end;
    }
    if (items.length === 0) return false;
    this.#put({ kind: "list", isOrdered, start: isOrdered ? parseInt(first[2]!, 10) : 1, items }, at);
    return true;
  }

  /** The lines of an item: those that are set in, those that go on with its text, and blank ones between them. */
  #itemLines(start: number, match: RegExpExecArray): [end: number, inner: string[]] {
    const [, lead = "", mark = "", gap = " ", text = ""] = match;
    const indent = lead.length + mark.length + Math.min(gap.length, 4);
    const least = Math.min(indent, 2);
    const inner = [text];
    let end = start + 1;
    for (; end < this.#lines.length; end++) {
      const line = this.#lines[end]!;
      // A blank line ends the item unless what follows belongs to it.
      const isInside =
        line.trim() === "" ? setIn(this.#lines[end + 1] ?? "") >= least : this.#goesOn(line, least);
      if (!isInside) break;
      inner.push(line.slice(Math.min(setIn(line), indent)));
    }
    return [this.#isGap(end) ? end + 1 : end, inner];
  }

  /** A blank line between two items. */
  #isGap(at: number): boolean {
    return this.#lines[at]?.trim() === "" && ITEM.test(this.#lines[at + 1] ?? "");
  }

  #goesOn(line: string, least: number): boolean {
    return setIn(line) >= least || !(ITEM.test(line) || this.#startsBlock(line));
  }

  #startsBlock(line: string): boolean {
    return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line);
  }

  #takeTable(line: string): boolean {
    const divider = this.#lines[this.#at + 1] ?? "";
    if (!line.includes("|") || !divider.includes("-") || !DIVIDER.test(divider)) return false;
    const head = cellsOf(line);
    const aligns = cellsOf(divider).map(alignOf);
    if (head.length !== aligns.length) return false;
    const rows = [head];
    let end = this.#at + 2;
    for (; end < this.#lines.length && this.#lines[end]!.includes("|"); end++)
      rows.push(cellsOf(this.#lines[end]!));
    const inside = rows.map((row) => aligns.map((_, column) => parseInlines(row[column] ?? "")));
    this.#put({ kind: "table", aligns, rows: inside }, end);
    return true;
  }

  #takeIndented(line: string): boolean {
    if (this.#paragraph.length > 0 || !line.startsWith("    ")) return false;
    let end = this.#at;
    const text: string[] = [];
    for (; end < this.#lines.length; end++) {
      const next = this.#lines[end]!;
      if (!next.startsWith("    ") && next.trim() !== "") break;
      text.push(next.slice(4));
    }
    this.#put({ kind: "code", language: "", text: text.join("\n").trimEnd() }, end);
    return true;
  }

  #put(block: Block, next: number): void {
    this.#endParagraph();
    this.#blocks.push(block);
    this.#at = next;
  }

  #endParagraph(): void {
    if (this.#paragraph.length === 0) return;
    this.#blocks.push({ kind: "paragraph", inside: parseInlines(this.#paragraph.join("\n").trimEnd()) });
    this.#paragraph = [];
  }
}

/** By how many blanks a line is set in; a blank line by none. */
function setIn(line: string): number {
  return line.trim() === "" ? 0 : line.length - line.trimStart().length;
}

function isFenceEnd(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text === fence[0]!.repeat(text.length);
}

/** The cells of a row; a bar that is escaped is part of a cell. */
function cellsOf(line: string): string[] {
  const text = line.trim().replace(/^\|/, "");
  const cells = text.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  if (cells.at(-1) === "" && cells.length > 1) cells.pop();
  return cells;
}

function alignOf(cell: string): Align {
  if (cell.startsWith(":") && cell.endsWith(":")) return "center";
  return cell.endsWith(":") ? "right" : "left";
}
