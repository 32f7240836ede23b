/** A formula set as mathematics. */
import { useMemo } from "preact/hooks";
import { MathNode } from "./MathNode";
import { parseFormula } from "./parsing";
import { spoken } from "./speaking";

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
