/** A value that was read several times: what had arrived, what arrives now, and what that makes. */
import { formatNumberOf } from "../../format";
import type { BackwardStep } from "../../wire";
import { elementName, numbersOf } from "../cells";
import { factorText, resultText } from "../numbers";
import * as store from "../store";
import { NumberTable } from "./NumberTable";

export function FanNote({ step, nth }: { step: BackwardStep; nth: number }) {
  const { name } = store.lesson.value!.nodes[step.to]!;
  if (step.num_all < 2) return null;
  const rest = step.num_all - step.number;
  const [before, now, after] = [step.before, step.contribution, step.after].map((cells) =>
    cells === null ? null : (numbersOf(cells)[nth] ?? NaN),
  );
  return (
    <div class="learn-note fan">
      <p>
        {name} is used {step.num_all} times: contribution {step.number} of {step.num_all}.
        {rest > 0 && ` ${formatNumberOf(rest, "more is", "more are")} to come.`}
      </p>
      {before !== null && before !== undefined && (
        <p data-testid="sum">
          <span class="mono">{elementName(name, step.after, nth)}</span>: {factorText(before)} before{" "}
          <span class="muted">+</span> {factorText(now!, false)} now <span class="muted">=</span>{" "}
          <b>{resultText(after!)}</b>
        </p>
      )}
      {before !== null && (
        <NumberTable cells={step.after} ink="gradient" label={`∂L/∂${name} so far`} marked={new Set([nth])} />
      )}
    </div>
  );
}
