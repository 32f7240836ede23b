/** Says aloud what the step is, for those who do not see it. */
import { spoken } from "./formula/speaking";
import { parseFormula } from "./formula/parsing";
import { written } from "./steps";
import * as store from "./store";

export function LearnNews() {
  return (
    <div class="sr" role="status" aria-label="State of the steps">
      {sentence()}
    </div>
  );
}

function sentence(): string {
  const [node, step] = [store.currentNode.value, store.backwardStep.value];
  // Played, it would talk without an end.
  if (store.pageMode.value === "exercises" || store.isPlaying.value || node === null) return "";
  const place = `Step ${store.step.value} of ${store.count.value}`;
  if (step === null) return `${place}: ${written(node)}.`;
  return `${place}, ${step.title}: ${spoken(parseFormula(step.formula))}.`;
}
