/** Step: one or several trials, epochs or runs. */
import { Segments } from "../shell/Segments";
import { step } from "./acting";
import { ActButton } from "./ActButton";
import { reasonAgainst } from "./sending";
import { LEVELS, setStepLevel, stepCount, stepLevel, stepText } from "./stepping";

export function StepPart() {
  const isBad = stepCount.value === null;
  const against = reasonAgainst("step") || (isBad ? "The number of steps is a whole number of at least 1." : "");
  return (
    <div class="control-part">
      <ActButton icon="step" against={against} hint="Go on by so much (.)" act={step}>
        Step
      </ActButton>
      <Segments
        label="Step size"
        words={LEVELS.map((level) => [level, level] as const)}
        chosen={stepLevel.value}
        choose={setStepLevel}
      />
      <span class="muted" aria-hidden="true">
        ×
      </span>
      <input
        class={`input count-field${isBad ? " bad" : ""}`}
        inputMode="numeric"
        aria-label="Number of steps"
        aria-invalid={isBad}
        value={stepText.value}
        onInput={(event) => (stepText.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && against === "") step();
        }}
      />
    </div>
  );
}
