/** A formula set as mathematics. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Formula, type Kind, type Of, parseFormula, spoken } from "./parse";

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

// --- A part of a formula as MathML.

function MathNode({ of }: { of: Formula }): JSX.Element {
  const draw = DRAWN[of.kind] as (of: Formula) => JSX.Element;
  return draw(of);
}

/** One entry for each kind of part. */
const DRAWN: { readonly [One in Kind]: (of: Of<One>) => JSX.Element } = {
  row: ({ items }) => (
    <mrow>
      {items.map((item, at) => (
        <MathNode key={at} of={item} />
      ))}
    </mrow>
  ),
  letter: ({ text }) => <mi>{text}</mi>,
  number: ({ text }) => <mn>{text}</mn>,
  function: ({ text }) => <mi mathvariant="normal">{text}</mi>,
  bold: ({ text }) => (
    <mi mathvariant="normal" class="bold">
      {text}
    </mi>
  ),
  name: ({ text }) => <Name text={text} />,
  gradient: ({ text }) => (
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
  sign: ({ text }) => <mo>{text}</mo>,
  big: ({ text }) => <mo>{text}</mo>,
  space: () => <mspace width="0.17em" />,
  bar: ({ inner }) => over(inner, <mo stretchy={false}>‾</mo>),
  mean: ({ inner }) => over(inner, <mo>‾</mo>),
  tilde: ({ inner }) => over(inner, <mo stretchy={false}>~</mo>),
  root: ({ inner }) => (
    <msqrt>
      <MathNode of={inner} />
    </msqrt>
  ),
  fraction: ({ above, below }) => (
    <mfrac>
      <MathNode of={above} />
      <MathNode of={below} />
    </mfrac>
  ),
  script: (of) => <Script of={of} />,
  fence: ({ open, close, inner }) => (
    <mrow>
      <mo>{open}</mo>
      <MathNode of={inner} />
      <mo>{close}</mo>
    </mrow>
  ),
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
