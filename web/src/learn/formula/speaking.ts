/** A formula as one would read it aloud. */
import type { Formula } from "./parsing";

const FUNCTIONS: Readonly<Record<string, string>> = {
  ln: "the logarithm of",
  log: "the logarithm of",
  sin: "the sine of",
  cos: "the cosine of",
  exp: "e to the power of",
  sign: "the sign of",
};

/** What can be multiplied with what follows. */
const OPERANDS: ReadonlySet<Formula["kind"]> = new Set([
  "letter",
  "number",
  "bold",
  "name",
  "gradient",
  "bar",
  "mean",
  "tilde",
  "root",
  "fraction",
  "script",
  "fence",
]);

type Kind = Formula["kind"];
type Of<One extends Kind> = Formula & { kind: One };

export function spoken(formula: Formula): string {
  const say = SAID[formula.kind] as (of: Formula) => string;
  return say(formula);
}

/** One entry for each kind of part. */
const SAID: { readonly [One in Kind]: (of: Of<One>) => string } = {
  row: ({ items }) => rowSpoken(items),
  letter: ({ text }) => text,
  number: ({ text }) => text,
  name: ({ text }) => text,
  bold: ({ text }) => (text === "1" ? "ones" : text),
  function: ({ text }) => FUNCTIONS[text] ?? `${text} of`,
  gradient: ({ text }) => `dL by d${text}`,
  sign: (of) => of.spoken,
  big: (of) => of.spoken,
  space: () => "",
  bar: ({ inner }) => `${spoken(inner)} bar`,
  mean: ({ inner }) => `the mean of ${spoken(inner)}`,
  tilde: ({ inner }) => `${spoken(inner)} tilde`,
  root: ({ inner }) => `the root of ${spoken(inner)}`,
  fraction: ({ above, below }) => `${spoken(above)} over ${spoken(below)}`,
  script: (of) => scriptSpoken(of),
  fence: ({ open, inner }) => (open === "[" ? `1 where ${spoken(inner)}` : `open ${spoken(inner)} close`),
};

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
  return OPERANDS.has(formula.kind);
}

function isFactor(formula: Formula): boolean {
  const base = formula.kind === "script" ? formula.base : formula;
  return OPERANDS.has(base.kind) || base.kind === "function" || base.kind === "big";
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
