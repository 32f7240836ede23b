/** A formula set as mathematics, and said aloud: from the few commands of LaTeX that the rules are written with. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

interface Props {
  latex: string;
  /** In a line of text: smaller, and where the text goes on. */
  isInline?: boolean;
}

export function FormulaView({ latex, isInline = false }: Props) {
  const { drawn, said } = useMemo(() => readFormula(latex), [latex]);
  return (
    <div class={isInline ? "maths inline" : "maths"} role="math" aria-label={said}>
      <math aria-hidden="true" display={isInline ? "inline" : "block"}>
        {drawn}
      </math>
    </div>
  );
}

/** A part of a formula as MathML, and as one would read it aloud. */
interface Part {
  /** Two operands side by side are a product, and so is one before a function or a sum. */
  readonly kind: "operand" | "function" | "sign" | "big" | "space" | "row";
  readonly drawn: JSX.Element;
  readonly said: string;
  /** The same without the brackets around it. */
  readonly inner?: string;
}

/** Anything that is not known stands there as it was written: a formula is never lost. */
export function readFormula(latex: string): Part {
  return new Reader(latex.match(/\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\s+|\+=|[^\s]/g) ?? []).row(() => false);
}

// --- What parts are made of.

function operand(drawn: JSX.Element, said: string): Part {
  return { kind: "operand", drawn, said };
}

function rowOf(items: readonly Part[]): Part {
  if (items.length === 1) return items[0]!;
  const said: string[] = [];
  let before: Part | undefined;
  for (const item of items) {
    if (item.kind === "space") continue;
    if (before?.kind === "operand" && ["operand", "function", "big"].includes(item.kind)) said.push("times");
    said.push(before?.kind === "function" ? (item.inner ?? item.said) : item.said);
    before = item;
  }
  return { kind: "row", drawn: <mrow>{items.map(({ drawn }) => drawn)}</mrow>, said: said.filter((word) => word !== "").join(" ") };
}

function scripted(base: Part, sub: Part | null, sup: Part | null): Part {
  const isBig = base.kind === "big";
  const parts = [base, sub, sup].map((one) => one?.drawn);
  const [Both, Below] = isBig ? (["munderover", "munder"] as const) : (["msubsup", "msub"] as const);
  const drawn = sub === null ? <msup>{parts}</msup> : sup === null ? <Below>{parts}</Below> : <Both>{parts}</Both>;
  const said = [base.said];
  if (sub !== null) said.push(isBig ? `over ${sub.said} of` : `sub ${sub.said}`);
  if (sup !== null) said.push(sup.said === "2" ? "squared" : sup.said === "transposed" ? sup.said : `to the power of ${sup.said}`);
  return { kind: isBig || base.kind === "sign" ? base.kind : "operand", drawn, said: said.join(" ") };
}

function fenced(open: string, close: string, { drawn, said }: Part): Part {
  const fence = (
    <mrow>
      <mo>{open}</mo>
      {drawn}
      <mo>{close}</mo>
    </mrow>
  );
  return { ...operand(fence, open === "[" ? `1 where ${said}` : `open ${said} close`), inner: said };
}

function over({ drawn }: Part, sign: JSX.Element, said: string): Part {
  return operand(
    <mover>
      {drawn}
      {sign}
    </mover>,
    said,
  );
}

function fraction(above: JSX.Element, below: JSX.Element): JSX.Element {
  return (
    <mfrac>
      {above}
      {below}
    </mfrac>
  );
}

function partial(of: JSX.Element): JSX.Element {
  return (
    <mrow>
      <mi>∂</mi>
      {of}
    </mrow>
  );
}

function functionOf(name: string): Part {
  return { kind: "function", drawn: <mi mathvariant="normal">{name}</mi>, said: FUNCTIONS[name] ?? `${name} of` };
}

/** A name of the student's: W1 as W with a small 1, longer ones upright. */
function nameOf(text: string): JSX.Element {
  const [, letter, digits] = /^([A-Za-z])_?(\d+)$/.exec(text) ?? [];
  if (letter === undefined || digits === undefined) return <mi>{text}</mi>;
  return (
    <msub>
      <mi>{letter}</mi>
      <mn>{digits}</mn>
    </msub>
  );
}

/** What is made of the text between braces. */
const TEXTS: Readonly<Record<string, (text: string) => Part>> = {
  "\\operatorname": functionOf,
  "\\text": functionOf,
  "\\mathrm": functionOf,
  "\\mathbf": (text) =>
    operand(
      <mi mathvariant="normal" class="bold">
        {text}
      </mi>,
      text === "1" ? "ones" : text,
    ),
  "\\name": (text) => operand(nameOf(text), text),
  "\\grad": (text) => operand(fraction(partial(<mi>L</mi>), partial(nameOf(text))), `dL by d${text}`),
};

/** What stands over one part or around it. A line over several is their mean. */
const AROUND: Readonly<Record<string, (inner: Part) => Part>> = {
  "\\bar": (inner) => over(inner, <mo stretchy={false}>‾</mo>, `${inner.said} bar`),
  "\\overline": (inner) => over(inner, <mo>‾</mo>, `the mean of ${inner.said}`),
  "\\tilde": (inner) => over(inner, <mo stretchy={false}>~</mo>, `${inner.said} tilde`),
  "\\sqrt": ({ drawn, said }) => operand(<msqrt>{drawn}</msqrt>, `the root of ${said}`),
};

const FUNCTIONS: Readonly<Record<string, string>> = {
  ln: "the logarithm of",
  log: "the logarithm of",
  sin: "the sine of",
  cos: "the cosine of",
  exp: "e to the power of",
  sign: "the sign of",
};

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

/** Read a formula token by token. */
class Reader {
  #at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  row(isEnd: (token: string) => boolean): Part {
    const items: Part[] = [];
    for (let token = this.#peek(); token !== undefined && !isEnd(token); token = this.#peek()) {
      if (token === "^" || token === "_") items.push(this.#scripted(items.pop() ?? EMPTY));
      else items.push(this.#one());
    }
    return rowOf(items);
  }

  #peek(): string | undefined {
    while (/^\s+$/.test(this.tokens[this.#at] ?? "")) this.#at += 1;
    return this.tokens[this.#at];
  }

  #next(): string {
    const token = this.#peek() ?? "";
    this.#at += 1;
    return token;
  }

  #scripted(base: Part): Part {
    let [sub, sup]: [Part | null, Part | null] = [null, null];
    for (let token = this.#peek(); token === "^" || token === "_"; token = this.#peek()) {
      this.#at += 1;
      if (token === "^") sup = this.#argument();
      else sub = this.#argument();
    }
    return scripted(base, sub, sup);
  }

  #argument(): Part {
    return this.#peek() === undefined ? EMPTY : this.#one();
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

  #one(): Part {
    const token = this.#next();
    if (token === "{") return this.#until("}");
    if (SPACES.has(token)) return { kind: "space", drawn: <mspace width="0.17em" />, said: "" };
    const end = FENCES[token];
    if (end !== undefined) return fenced(bare(token), bare(end), this.#until(end));
    if (token === "\\left") {
      const [open, inner] = [this.#next(), this.#until("\\right")];
      return fenced(bare(open), bare(this.#next()), inner);
    }
    if (token === "\\frac") {
      const [above, below] = [this.#argument(), this.#argument()];
      return operand(fraction(above.drawn, below.drawn), `${above.said} over ${below.said}`);
    }
    if (token === "\\bigl" || token === "\\bigr") return this.#one();
    return TEXTS[token]?.(this.#text()) ?? AROUND[token]?.(this.#argument()) ?? plain(token);
  }

  #until(end: string): Part {
    const inner = this.row((token) => token === end);
    this.#at += 1;
    return inner;
  }
}

const EMPTY: Part = rowOf([]);

function plain(token: string): Part {
  const sign = SIGNS[token];
  if (sign !== undefined) return { kind: "sign", drawn: <mo>{sign[0]}</mo>, said: sign[1] };
  const big = BIG[token];
  if (big !== undefined) return { kind: "big", drawn: <mo>{big[0]}</mo>, said: big[1] };
  if (/^\d/.test(token)) return operand(<mn>{token}</mn>, token);
  const letter = LETTERS[token];
  // \ln, \sin, \cos, and any other word.
  if (letter === undefined && /^\\[a-zA-Z]/.test(token)) return functionOf(token.slice(1));
  return operand(<mi>{letter ?? bare(token)}</mi>, letter ?? bare(token));
}

function bare(token: string): string {
  return token.replace(/^\\/, "");
}
