/** Before a contribution is shown: type what the outlined element will be, or have it shown. */
import { useState } from "preact/hooks";
import type { BackwardStep } from "../../wire";
import { elementName, numbersOf } from "../cells";
import { judged, type Judgement } from "../guessing";
import * as store from "../store";

export function GuessBox({ step }: { step: BackwardStep }) {
  const [text, setText] = useState("");
  const [said, setSaid] = useState<Judgement | null>(null);
  const nth = store.element.value;
  const name = elementName(store.lesson.value!.nodes[step.to]!.name, step.contribution, nth);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === "" || said?.isRight === true) store.reveal();
    else setSaid(judged(text, numbersOf(step.contribution)[nth] ?? NaN));
  };
  return (
    <form class="guess" onSubmit={submit}>
      <label for="guess">
        What arrives at <span class="mono">{name}</span>?
      </label>
      <div class="row">
        <input
          id="guess"
          class={said?.isRight === false ? "input bad" : "input"}
          autocomplete="off"
          inputMode="decimal"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setSaid(null);
          }}
        />
        <button class="btn" type="submit" disabled={text.trim() === ""}>
          Check
        </button>
        <button class="btn" type="button" onClick={store.reveal} title="Show the contribution (Enter)">
          Show
        </button>
      </div>
      <p class={said?.isRight === true ? "right" : "hint"} role="status">
        {said?.message}
        {said?.isRight === true && " Press Show for the other elements."}
      </p>
    </form>
  );
}
