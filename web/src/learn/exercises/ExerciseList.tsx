/** The left panel of the exercises: all of them, which are solved, and a way to begin anew. */
import { useState } from "preact/hooks";
import { ActButton } from "../../control/ActButton";
import { Icon } from "../../shell/Icon";
import { whyNotAsk } from "../wording";
import { chooseExercise, exercise, exercises, numSolved, resetProgress } from "./state";

export function ExerciseList() {
  const all = exercises.value;
  const now = all.findIndex(({ id }) => id === exercise.value?.id);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
    const next = to === undefined ? undefined : all[Math.max(0, Math.min(all.length - 1, to))];
    if (next === undefined) return;
    event.preventDefault();
    chooseExercise(next.id);
  };
  return (
    <>
      <div class="panel-head ruled">
        <h2>Exercises</h2>
        <span class="grow" />
        <div
          class="bar exercise-bar"
          role="progressbar"
          aria-label="Exercises solved"
          aria-valuemin={0}
          aria-valuemax={all.length}
          aria-valuenow={numSolved.value}
        >
          <i style={{ width: `${(100 * numSolved.value) / Math.max(1, all.length)}%` }} />
        </div>
        <span class="muted fs-1" data-testid="progress">
          {numSolved.value} of {all.length}
        </span>
      </div>
      <ol
        class="learn-steps exercise-list"
        role="listbox"
        aria-label="Exercises"
        tabIndex={0}
        aria-activedescendant={now < 0 ? undefined : `exercise-${now}`}
        onKeyDown={onKeyDown}
      >
        {all.map(({ id, title, is_solved }, at) => (
          <li key={id} id={`exercise-${at}`} role="option" aria-selected={at === now} title={title} onClick={() => chooseExercise(id)}>
            <span class="line-no">{at + 1}</span>
            <span class="grow clip">{title}</span>
            {is_solved && (
              <>
                <Icon name="check" />
                <span class="sr">solved</span>
              </>
            )}
          </li>
        ))}
      </ol>
      {numSolved.value > 0 && <Reset />}
    </>
  );
}

/** Asked once more: what was solved is gone then. */
function Reset() {
  const [isAsked, setIsAsked] = useState(false);
  const against = whyNotAsk();
  if (!isAsked) {
    return (
      <div class="exercise-foot">
        <ActButton style="quiet sm" against={against} act={() => setIsAsked(true)}>
          Reset progress
        </ActButton>
      </div>
    );
  }
  return (
    <div class="exercise-foot" role="group" aria-label="Reset progress">
      <span class="fs-2">Forget all answers?</span>
      <ActButton
        style="sm stop"
        against={against}
        act={() => {
          setIsAsked(false);
          void resetProgress();
        }}
      >
        Forget them
      </ActButton>
      <button class="btn sm" onClick={() => setIsAsked(false)}>
        Keep
      </button>
    </div>
  );
}
