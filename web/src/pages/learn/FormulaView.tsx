/** A formula set as mathematics, and said aloud: from the few commands of LaTeX that the rules are written with. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

interface Props {
  latex: string;
  /** In a line of text: smaller, and where the text goes on. */
  isInline?: boolean;
}

export function FormulaView({ latex, isInline = false }: Props) {
  const tree = useMemo(() => parseFormula(latex), [latex]);
  return (
    <div class={isInline ? "maths inline" : "maths"} role="math" aria-label={spoken(tree)}>
      <math aria-hidden="true" display={isInline ? "inline" : "block"}>
        <MathNode of={tree} />
      </math>
    </div>
  );
}

// --- A part of a formula as MathML, and as one would read it aloud.

function MathNode({ of }: { of: Formula }): JSX.Element {
  return (PARTS[of.kind] as Part<Formula>).drawn(of);
}

export function spoken(of: Formula): string {
  return (PARTS[of.kind] as Part<Formula>).said(of);
}

interface Part<One> {
  readonly drawn: (of: One) => JSX.Element;
  readonly said: (of: One) => string;
}

const PARTS: { readonly [One in Kind]: Part<Of<One>> } = {
  row: {
    drawn: ({ items }) => <mrow>{items.map((item, at) => <MathNode key={at} of={item} />)}</mrow>,
    said: ({ items }) => rowSpoken(items),
  },
  letter: { drawn: ({ text }) => <mi>{text}</mi>, said: ({ text }) => text },
  number: { drawn: ({ text }) => <mn>{text}</mn>, said: ({ text }) => text },
  function: { drawn: ({ text }) => <mi mathvariant="normal">{text}</mi>, said: ({ text }) => FUNCTIONS[text] ?? `${text} of` },
  bold: {
    drawn: ({ text }) => (
      <mi mathvariant="normal" class="bold">
        {text}
      </mi>
    ),
    said: ({ text }) => (text === "1" ? "ones" : text),
  },
  name: { drawn: ({ text }) => <Name text={text} />, said: ({ text }) => text },
  gradient: {
    drawn: ({ text }) => (
      <mfrac>
        <mrow>
          <mi>∂</mi>
          <mi>L</mi>
        </mrow>
        <mrow>
          <mi>∂</mi>
          <Name text={text} />
        </mrow>
      </mfrac>
    ),
    said: ({ text }) => `dL by d${text}`,
  },
  sign: { drawn: ({ text }) => <mo>{text}</mo>, said: (of) => of.spoken },
  big: { drawn: ({ text }) => <mo>{text}</mo>, said: (of) => of.spoken },
  space: { drawn: () => <mspace width="0.17em" />, said: () => "" },
  bar: { drawn: ({ inner }) => over(inner, <mo stretchy={false}>‾</mo>), said: ({ inner }) => `${spoken(inner)} bar` },
  mean: { drawn: ({ inner }) => over(inner, <mo>‾</mo>), said: ({ inner }) => `the mean of ${spoken(inner)}` },
  tilde: { drawn: ({ inner }) => over(inner, <mo stretchy={false}>~</mo>), said: ({ inner }) => `${spoken(inner)} tilde` },
  root: {
    drawn: ({ inner }) => (
      <msqrt>
        <MathNode of={inner} />
      </msqrt>
    ),
    said: ({ inner }) => `the root of ${spoken(inner)}`,
  },
  fraction: {
    drawn: ({ above, below }) => (
      <mfrac>
        <MathNode of={above} />
        <MathNode of={below} />
      </mfrac>
    ),
    said: ({ above, below }) => `${spoken(above)} over ${spoken(below)}`,
  },
  script: { drawn: (of) => <Script of={of} />, said: (of) => scriptSpoken(of) },
  fence: {
    drawn: ({ open, close, inner }) => (
      <mrow>
        <mo>{open}</mo>
        <MathNode of={inner} />
        <mo>{close}</mo>
      </mrow>
    ),
    said: ({ open, inner }) => (open === "[" ? `1 where ${spoken(inner)}` : `open ${spoken(inner)} close`),
  },
};

function over(inner: Formula, sign: JSX.Element): JSX.Element {
  return (
    <mover>
      <MathNode of={inner} />
      {sign}
    </mover>
  );
}

function Script({ of: { base, sub, sup } }: { of: Of<"script"> }) {
  const isBig = base.kind === "big";
  const parts = [base, sub, sup].filter((one) => one !== null).map((one, at) => <MathNode key={at} of={one} />);
  if (sub !== null && sup !== null) return isBig ? <munderover>{parts}</munderover> : <msubsup>{parts}</msubsup>;
  if (sup !== null) return <msup>{parts}</msup>;
  return isBig ? <munder>{parts}</munder> : <msub>{parts}</msub>;
}

/** A name of the student's: W1 as W with a small 1, longer ones upright. */
function Name({ text }: { text: string }) {
  const [, letter, digits] = /^([A-Za-z])_?(\d+)$/.exec(text) ?? [];
  if (letter === undefined || digits === undefined) return <mi>{text}</mi>;
  return (
    <msub>
      <mi>{letter}</mi>
      <mn>{digits}</mn>
    </msub>
  );
}

const FUNCTIONS: Readonly<Record<string, string>> = {
  ln: "the logarithm of",
  log: "the logarithm of",
  sin: "the sine of",
  cos: "the cosine of",
  exp: "e to the power of",
  sign: "the sign of",
};

/** All but these can be multiplied with what follows. */
const NO_OPERANDS: ReadonlySet<Kind> = new Set(["row", "space", "sign", "big", "function"]);

function rowSpoken(items: readonly Formula[]): string {
  const said: string[] = [];
  let before: Formula | null = null;
  for (const item of items) {
    if (item.kind === "space") continue;
    // Two of them side by side are a product; a sum stands before what is summed.
    if (before !== null && isOperand(before) && isFactor(item)) said.push("times");
    said.push(before?.kind === "function" && item.kind === "fence" ? spoken(item.inner) : spoken(item));
    before = item;
  }
  return said.filter((word) => word !== "").join(" ");
}

function isOperand(formula: Formula): boolean {
  if (formula.kind === "script" && (formula.base.kind === "big" || formula.base.kind === "sign")) return false;
  return !NO_OPERANDS.has(formula.kind);
}

function isFactor(formula: Formula): boolean {
  const base = formula.kind === "script" ? formula.base : formula;
  return !NO_OPERANDS.has(base.kind) || base.kind === "function" || base.kind === "big";
}

function scriptSpoken({ base, sub, sup }: Of<"script">): string {
  const parts = [spoken(base)];
  if (sub !== null) parts.push(base.kind === "big" ? `over ${spoken(sub)} of` : `sub ${spoken(sub)}`);
  if (sup !== null) parts.push(powerSpoken(sup));
  return parts.join(" ");
}

function powerSpoken(sup: Formula): string {
  if (sup.kind === "sign" && sup.spoken === "transposed") return "transposed";
  if (sup.kind === "number" && sup.text === "2") return "squared";
  return `to the power of ${spoken(sup)}`;
}

// --- A formula as a tree.

type Formula =
  | { readonly kind: "row"; readonly items: readonly Formula[] }
  | { readonly kind: "letter" | "number" | "function" | "bold" | "name" | "gradient"; readonly text: string }
  | { readonly kind: "sign" | "big"; readonly text: string; readonly spoken: string }
  | { readonly kind: "space" }
  | { readonly kind: "bar" | "mean" | "tilde" | "root"; readonly inner: Formula }
  | { readonly kind: "fraction"; readonly above: Formula; readonly below: Formula }
  | { readonly kind: "script"; readonly base: Formula; readonly sub: Formula | null; readonly sup: Formula | null }
  | { readonly kind: "fence"; readonly open: string; readonly close: string; readonly inner: Formula };

type Kind = Formula["kind"];
type Of<One extends Kind> = Formula & { kind: One };

type Sign = readonly [text: string, spoken: string];

const SIGNS: Readonly<Record<string, Sign>> = {
  "+=": ["+=", "gets"],
  "+": ["+", "plus"],
  "-": ["\u2212", "minus"],
  "=": ["=", "equals"],
  "<": ["<", "is less than"],
  ">": [">", "is greater than"],
  ",": [",", "comma"],
  "/": ["/", "over"],
  "*": ["\u2217", "times"],
  "|": ["|", "bar"],
  "!": ["!", "factorial"],
  "'": ["\u2032", "prime"],
  ":": [":", "colon"],
  ".": [".", "point"],
  "\\cdot": ["\u00b7", "times"],
  "\\times": ["\u00d7", "times"],
  "\\odot": ["\u2299", "times, element by element,"],
  "\\ast": ["\u2217", "convolved with"],
  "\\ge": ["\u2265", "is at least"],
  "\\geq": ["\u2265", "is at least"],
  "\\le": ["\u2264", "is at most"],
  "\\leq": ["\u2264", "is at most"],
  "\\ne": ["\u2260", "is not"],
  "\\neq": ["\u2260", "is not"],
  "\\in": ["\u2208", "in"],
  "\\pm": ["\u00b1", "plus or minus"],
  "\\neg": ["\u00ac", "not"],
  "\\rightarrow": ["\u2192", "goes to"],
  "\\to": ["\u2192", "goes to"],
  "\\top": ["\u22a4", "transposed"],
  "\\partial": ["\u2202", "d"],
  "\\infty": ["\u221e", "infinity"],
  "\\ldots": ["\u2026", "and so on"],
  "\\dots": ["\u2026", "and so on"],
  "\\cdots": ["\u22ef", "and so on"],
};

const LETTERS: Readonly<Record<string, string>> = {
  "\\pi": "\u03c0",
  "\\sigma": "\u03c3",
  "\\mu": "\u03bc",
  "\\alpha": "\u03b1",
  "\\beta": "\u03b2",
  "\\gamma": "\u03b3",
  "\\epsilon": "\u03b5",
  "\\varepsilon": "\u03b5",
  "\\lambda": "\u03bb",
  "\\eta": "\u03b7",
  "\\delta": "\u03b4",
  "\\theta": "\u03b8",
};

const BIG: Readonly<Record<string, Sign>> = {
  "\\sum": ["\u2211", "the sum"],
  "\\prod": ["\u220f", "the product"],
  "\\max": ["max", "the largest"],
  "\\min": ["min", "the least"],
};

const SPACES: ReadonlySet<string> = new Set(["\\,", "\\ ", "\\;", "\\:", "\\!", "\\quad", "\\qquad", "~"]);
const FENCES: Readonly<Record<string, string>> = { "(": ")", "[": "]", "\\{": "\\}" };
const TEXTS: Readonly<Record<string, "function" | "bold" | "name" | "gradient">> = {
  "\\operatorname": "function",
  "\\text": "function",
  "\\mathrm": "function",
  "\\mathbf": "bold",
  "\\name": "name",
  "\\grad": "gradient",
};

/** What stands over one part or around it. A line over several is their mean. */
const AROUND: Readonly<Record<string, "bar" | "mean" | "tilde" | "root">> = {
  "\\bar": "bar",
  "\\overline": "mean",
  "\\tilde": "tilde",
  "\\sqrt": "root",
};

/** Anything that is not known stands there as it was written: a formula is never lost. */
export function parseFormula(latex: string): Formula {
  return new Parser(latex.match(/\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\s+|\+=|[^\s]/g) ?? []).row(() => false);
}

class Parser {
  #at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  row(isEnd: (token: string) => boolean): Formula {
    const items: Formula[] = [];
    for (let token = this.#peek(); token !== undefined && !isEnd(token); token = this.#peek()) {
      if (token === "^" || token === "_") items.push(this.#scripted(items.pop() ?? EMPTY));
      else items.push(this.#one());
    }
    return items.length === 1 ? items[0]! : { kind: "row", items };
  }

  /** The next token that is no white space. */
  #peek(): string | undefined {
    while (/^\s+$/.test(this.tokens[this.#at] ?? "")) this.#at += 1;
    return this.tokens[this.#at];
  }

  #next(): string {
    const token = this.#peek() ?? "";
    this.#at += 1;
    return token;
  }

  #scripted(base: Formula): Formula {
    let [sub, sup]: [Formula | null, Formula | null] = [null, null];
    for (let token = this.#peek(); token === "^" || token === "_"; token = this.#peek()) {
      this.#at += 1;
      if (token === "^") sup = this.#argument();
      else sub = this.#argument();
    }
    return { kind: "script", base, sub, sup };
  }

  #argument(): Formula {
    if (this.#peek() === "{") return this.#group();
    return this.#peek() === undefined ? EMPTY : this.#one();
  }

  #group(): Formula {
    this.#at += 1;
    const inner = this.row((token) => token === "}");
    this.#at += 1;
    return inner;
  }

  /** What stands between braces, as it is written: the names of data may have any signs in them. */
  #text(): string {
    if (this.#peek() !== "{") return this.#next();
    this.#at += 1;
    let [text, depth] = ["", 0];
    for (; this.#at < this.tokens.length; this.#at += 1) {
      const token = this.tokens[this.#at]!;
      if (token === "}" && depth === 0) break;
      depth += token === "{" ? 1 : token === "}" ? -1 : 0;
      // A sign that was written with a backslash, so that it is only a sign.
      text += /^\\[^a-zA-Z]$/.test(token) ? token.slice(1) : token;
    }
    this.#at += 1;
    return text;
  }

  #one(): Formula {
    if (this.#peek() === "{") return this.#group();
    const token = this.#next();
    if (SPACES.has(token)) return { kind: "space" };
    if (FENCES[token] !== undefined) return this.#fence(token, FENCES[token]);
    const kind = TEXTS[token];
    if (kind !== undefined) return { kind, text: this.#text() };
    const around = AROUND[token];
    if (around !== undefined) return { kind: around, inner: this.#argument() };
    return this.#command(token) ?? plain(token);
  }

  #command(token: string): Formula | null {
    if (token === "\\frac") return { kind: "fraction", above: this.#argument(), below: this.#argument() };
    if (token === "\\left") return this.#fence(this.#next(), "\\right");
    return token === "\\bigl" || token === "\\bigr" ? this.#one() : null;
  }

  /** Up to its end; after `\right` stands which it is. */
  #fence(open: string, end: string): Formula {
    const inner = this.row((token) => token === end);
    this.#at += 1;
    return { kind: "fence", open: bare(open), close: bare(end === "\\right" ? this.#next() : end), inner };
  }
}

const EMPTY: Formula = { kind: "row", items: [] };

function plain(token: string): Formula {
  const sign = SIGNS[token];
  if (sign !== undefined) return { kind: "sign", text: sign[0], spoken: sign[1] };
  const big = BIG[token];
  if (big !== undefined) return { kind: "big", text: big[0], spoken: big[1] };
  if (/^\d/.test(token)) return { kind: "number", text: token };
  const letter = LETTERS[token];
  if (letter !== undefined) return { kind: "letter", text: letter };
  // \ln, \sin, \cos, and any other word.
  if (/^\\[a-zA-Z]/.test(token)) return { kind: "function", text: token.slice(1) };
  return { kind: "letter", text: bare(token) };
}

function bare(token: string): string {
  return token.replace(/^\\/, "");
}
