/** How the element of a contribution that is looked at came about. */
import type { BackwardStep } from "../../wire";
import type { Working } from "../arithmetic";
import { elementName } from "../cells";
import * as store from "../store";
import { ElementLine } from "./ElementLine";
import { Terms } from "./Terms";

interface Props {
  working: Working;
  step: BackwardStep;
  nth: number;
}

export function ContributionLine({ working, step, nth }: Props) {
  const name = store.lesson.value!.nodes[step.to]!.name;
  const { terms, total } = working;
  const isPlain = step.form === "seed" || terms === null || (terms.length === 1 && terms[0]!.length === 1 && terms[0]![0] === total);
  return (
    <ElementLine name={elementName(name, step.contribution, nth)} total={total}>
      {isPlain ? null : <Terms terms={terms} />}
    </ElementLine>
  );
}
