/** The marks inside a line of Markdown: code, emphasis, links. Anything else, HTML too, is text. */

export type Inline =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "emphasis" | "struck"; readonly inside: readonly Inline[] }
  | { readonly kind: "link"; readonly inside: readonly Inline[]; readonly address: string }
  | { readonly kind: "break" };

const MAX_DEPTH = 6;
const MAX_ADDRESS = 2000; // characters
const ESCAPED = /^[!-/:-@[-`{-~]$/;

type Mark = "**" | "__" | "~~" | "*" | "_";

const MARKS: readonly (readonly [Mark, "strong" | "emphasis" | "struck"])[] = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "struck"],
  ["*", "emphasis"],
  ["_", "emphasis"],
];

export function parseInlines(source: string, depth = 0): Inline[] {
  return new Scanner(source, depth).all();
}

class Scanner {
  readonly #source: string;
  readonly #depth: number;
  readonly #found: Inline[] = [];
  /** Marks of which none is left: looking for them again at each place would take too long. */
  readonly #spent = new Set<string>();
  #plain = "";
  #at = 0;

  constructor(source: string, depth: number) {
    this.#source = source;
    this.#depth = depth;
  }

  all(): Inline[] {
    while (this.#at < this.#source.length) {
      if (!this.#takeMarked()) this.#plain += this.#source[this.#at++]!;
    }
    this.#endPlain();
    return this.#found;
  }

  #takeMarked(): boolean {
    switch (this.#source[this.#at]) {
      case "\\":
        return this.#takeEscape();
      case "\n":
        return this.#takeLineEnd();
      case "`":
        return this.#takeCode();
      case "!":
      case "[":
        return this.#takeLink();
      case "*":
      case "_":
      case "~":
        return this.#depth < MAX_DEPTH && MARKS.some(([mark, kind]) => this.#takeSpan(mark, kind));
      default:
        return false;
    }
  }

  #takeEscape(): boolean {
    const next = this.#source[this.#at + 1];
    if (next === "\n") {
      this.#put({ kind: "break" }, this.#at + 2);
      return true;
    }
    if (next === undefined || !ESCAPED.test(next)) return false;
    this.#plain += next;
    this.#at += 2;
    return true;
  }

  /** Two blanks at the end of a line break it; otherwise the next line goes on. */
  #takeLineEnd(): boolean {
    const isBroken = this.#plain.endsWith("  ");
    this.#plain = this.#plain.trimEnd();
    if (isBroken) this.#put({ kind: "break" }, this.#at + 1);
    else {
      this.#plain += " ";
      this.#at += 1;
    }
    return true;
  }

  #takeCode(): boolean {
    let length = 1;
    while (this.#source[this.#at + length] === "`") length += 1;
    const mark = "`".repeat(length);
    const from = this.#at + length;
    const end = this.#find(mark, from);
    if (end === -1) {
      this.#plain += mark;
      this.#at = from;
      return true;
    }
    const text = this.#source.slice(from, end).replaceAll("\n", " ");
    this.#put(
      { kind: "code", text: text.trim() === "" ? text : text.replace(/^ (.*) $/, "$1") },
      end + length,
    );
    return true;
  }

  #takeSpan(mark: Mark, kind: "strong" | "emphasis" | "struck"): boolean {
    const from = this.#at + mark.length;
    if (!this.#source.startsWith(mark, this.#at) || /\s/.test(this.#source[from] ?? " ")) return false;
    // In snake_case names the underscore is a letter.
    if (mark.startsWith("_") && /[\p{L}\p{N}]/u.test(this.#source[this.#at - 1] ?? "")) return false;
    const end = this.#closing(mark, from);
    if (end === -1) return false;
    this.#put(
      { kind, inside: parseInlines(this.#source.slice(from, end), this.#depth + 1) },
      end + mark.length,
    );
    return true;
  }

  /** Where a span ends: not after a blank, not inside a word for an underscore, not at half of a double mark. */
  #closing(mark: Mark, from: number): number {
    for (let end = this.#find(mark, from + 1); end !== -1; end = this.#find(mark, end + 1)) {
      const [before, after] = [this.#source[end - 1]!, this.#source[end + mark.length] ?? ""];
      if (mark.length === 1 && after === mark) {
        end += 1;
        continue;
      }
      if (/\s/.test(before) || before === "\\") continue;
      if (mark.startsWith("_") && /[\p{L}\p{N}]/u.test(after)) continue;
      return end;
    }
    return -1;
  }

  /** A link or a picture: its text, and the address as text beside it. Nothing is ever loaded. */
  #takeLink(): boolean {
    const open = this.#source[this.#at] === "!" ? this.#at + 1 : this.#at;
    if (this.#source[open] !== "[" || this.#depth >= MAX_DEPTH) return false;
    const middle = this.#find("](", open + 1);
    const end = middle === -1 ? -1 : this.#addressEnd(middle + 2);
    if (end === -1) return false;
    const [inner, address] = [this.#source.slice(open + 1, middle), this.#source.slice(middle + 2, end)];
    if (inner.includes("\n\n") || /[\n<>]/.test(address)) return false;
    this.#put(
      {
        kind: "link",
        inside: parseInlines(inner, this.#depth + 1),
        address: address.trim().split(/\s/)[0] ?? "",
      },
      end + 1,
    );
    return true;
  }

  /** Where an address ends: parentheses in it come in pairs, and it has no line end. */
  #addressEnd(from: number): number {
    let depth = 0;
    for (let at = from; at < Math.min(this.#source.length, from + MAX_ADDRESS); at++) {
      const one = this.#source[at];
      if (one === "\n") return -1;
      if (one === "(") depth += 1;
      else if (one === ")" && depth-- === 0) return at;
    }
    return -1;
  }

  #find(text: string, from: number): number {
    if (this.#spent.has(text)) return -1;
    const found = this.#source.indexOf(text, from);
    if (found === -1) this.#spent.add(text);
    return found;
  }

  #put(inline: Inline, next: number): void {
    this.#endPlain();
    this.#found.push(inline);
    this.#at = next;
  }

  #endPlain(): void {
    if (this.#plain !== "") this.#found.push({ kind: "text", text: this.#plain });
    this.#plain = "";
  }
}
