/** One exercise: what is asked, what is given, and a field for each gradient. */
import { Blank } from "../../shell/Blank";
import { Icon } from "../../shell/Icon";
import { ReferenceLines } from "../ReferenceLines";
import * as store from "../store";
import { HoleField } from "./HoleField";
import { chooseExercise, complaint, exercise, exercises, nextExercise, numSolved } from "./state";

export function ExerciseSheet() {
  const now = exercise.value;
  if (now === null) {
    return (
      <section class="canvas" aria-label="Exercise">
        {store.catalogue.value === null ? <Waiting /> : <Blank icon="search" title="There are no exercises here" />}
      </section>
    );
  }
  return (
    <section class="canvas sheet-canvas" aria-label="Exercise">
      <div class="exercise-sheet" key={now.id}>
        <div class="row">
          <h2>{now.title}</h2>
          {now.is_solved && (
            <span class="badge live">
              <Icon name="check" />
              solved
            </span>
          )}
        </div>
        {now.text.split(/\n\s*\n/).map((paragraph, at) => (
          <p key={at}>{paragraph}</p>
        ))}
        <pre class="snippet">{now.forward}</pre>
        <div class="given">
          <h3>Given</h3>
          <ReferenceLines lines={now.given} />
        </div>
        {now.holes.map((hole) => (
          <HoleField key={hole.symbol} hole={hole} />
        ))}
        {complaint.value !== "" && (
          <p class="hint" role="alert">
            {complaint.value}
          </p>
        )}
        <Next isSolved={now.is_solved} />
      </div>
    </section>
  );
}

function Next({ isSolved }: { isSolved: boolean }) {
  const next = nextExercise.value;
  if (numSolved.value === exercises.value.length) return <p class="dim">All exercises are solved.</p>;
  if (next === null) return null;
  return (
    <div class="row">
      <button class={isSolved ? "btn primary" : "btn"} onClick={() => chooseExercise(next.id)}>
        Next exercise
        <Icon name="right" />
      </button>
      <span class="muted fs-2 clip">{next.title}</span>
    </div>
  );
}

function Waiting() {
  return (
    <div class="blank late" aria-busy="true">
      <b>Asking for the exercises</b>
      <div class="bar moving" role="progressbar" aria-label="Asking for the exercises">
        <i />
      </div>
    </div>
  );
}
