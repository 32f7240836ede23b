/** How the element that is looked at came about, written out. */
import type { BackwardStep } from "../../wire";
import type { Working } from "../arithmetic";
import { elementName } from "../cells";
import { factorText, resultText } from "../numbers";
import * as store from "../store";

interface Props {
  working: Working;
  step: BackwardStep;
  nth: number;
}

/** More than this are only counted. */
const MOST_TERMS = 6;

export function ElementLine({ working, step, nth }: Props) {
  const name = store.lesson.value!.nodes[step.to]!.name;
  const { terms, total } = working;
  const isPlain = step.form === "seed" || terms === null || (terms.length === 1 && terms[0]!.length === 1 && terms[0]![0] === total);
  return (
    <div class="element" data-testid="element">
      <span class="mono">{elementName(name, step.contribution, nth)}</span>
      <span class="working">
        {!isPlain && (
          <>
            <Terms terms={terms} />
            <span class="muted"> = </span>
          </>
        )}
        <b>{resultText(total)}</b>
      </span>
    </div>
  );
}

function Terms({ terms }: { terms: NonNullable<Working["terms"]> }) {
  if (terms.length === 0) return <span>0</span>;
  const more = terms.length - MOST_TERMS;
  return (
    <>
      {terms.slice(0, MOST_TERMS).map((factors, at) => (
        <span key={at}>
          {at > 0 && <span class="muted"> + </span>}
          <span class="term">
            {factors.map((factor, place) => (
              <span key={place}>
                {place > 0 && <span class="muted"> × </span>}
                {factorText(factor, at === 0 && place === 0)}
              </span>
            ))}
          </span>
        </span>
      ))}
      {more > 0 && <span class="muted"> + {more} more</span>}
    </>
  );
}
