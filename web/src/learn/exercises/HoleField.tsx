/** A gradient to be found: a field, what is said of the answer, and hints one by one. */
import { ActButton } from "../../control/ActButton";
import { Icon } from "../../shell/Icon";
import type { Hole } from "../../wire";
import { FormulaView } from "../formula/FormulaView";
import { whyNotAsk } from "../wording";
import { Hints } from "./Hints";
import { answerOf, checkAnswer, checkingHole, isRight, typeAnswer, verdictOf } from "./state";
import { VerdictCells } from "./VerdictCells";

export function HoleField({ hole }: { hole: Hole }) {
  const { symbol } = hole;
  const text = answerOf(symbol);
  const verdict = verdictOf(symbol);
  const [right, against] = [isRight(symbol), whyNotAsk()];
  // What is typed anew was not looked at yet.
  const isJudged = verdict !== null && text === hole.answer;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (against === "") void checkAnswer(symbol);
  };
  return (
    <form class="hole" aria-label={`Gradient of ${symbol}`} onSubmit={submit}>
      <div class="hole-line">
        <FormulaView latex={hole.formula} isInline />
        <span class="sign" aria-hidden="true">
          =
        </span>
        <input
          class={isJudged && !verdict.is_right ? "input mono bad" : "input mono"}
          aria-label={`Gradient of ${symbol}`}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={text}
          onInput={(event) => typeAnswer(symbol, event.currentTarget.value)}
        />
        <ActButton
          against={against !== "" ? against : text.trim() === "" ? "Type an expression first." : ""}
          hint="Is it right? (Enter)"
          label={`Check the gradient of ${symbol}`}
          act={submit}
        >
          Check
        </ActButton>
      </div>
      <div class="hole-said" role="status">
        {checkingHole.value === symbol && <span class="muted fs-2">Checking</span>}
        {right && (
          <p class="verdict right">
            <Icon name="check" />
            {isJudged ? verdict.message : "Right."}
          </p>
        )}
        {!right && isJudged && (
          <p class="verdict wrong">
            <Icon name="close" />
            {verdict.message}
          </p>
        )}
      </div>
      {isJudged && <VerdictCells verdict={verdict} />}
      <Hints hole={hole} />
    </form>
  );
}
