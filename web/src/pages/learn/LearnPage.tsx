/** Backpropagation stepped to and fro: an expression, its graph, the step; and exercises. */
import { useEffect, useState } from "preact/hooks";
import * as page from "../../data/store";
import { keyStep } from "../../data/time-steps";
import { ActButton } from "../../ui/ActButton";
import { Blank, Busy, Hint, ShareBar } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { HidePanel, PanelPlace } from "../../ui/PanelPlace";
import { Segments } from "../../ui/controls";
import { usePageKeys } from "../../ui/keys";
import { panels, panelWidth } from "../../ui/panels";
import type { Hole, Verdict } from "../../wire";
import { FormulaView, readFormula } from "./FormulaView";
import { LessonStage } from "./LessonStage";
import { RowList } from "./RowList";
import { StepBar } from "./StepBar";
import { followLearnAddress } from "./address";
import * as work from "./exercises/state";
import { ExpressionPanel, ReferenceLines } from "./expression/ExpressionPanel";
import { fit, zoomBy } from "./graph/view";
import { startLessons } from "./lessons";
import { NumberTable } from "./step/NumberTable";
import { Said, StepPanel } from "./step/StepPanel";
import { written } from "./steps";
import * as store from "./store";
import "../../ui/time-bar.css";
import "./learn.css";

export function LearnPage() {
  const source = page.source.value;
  useEffect(() => {
    const stops = [followLearnAddress(), ...(source === null ? [] : [startLessons(source)])];
    return () => stops.forEach((stop) => stop());
  }, [source]);
  usePageKeys(actOnKey);
  const { left, right } = panelWidth.value;
  const isExercises = store.pageMode.value === "exercises";
  return (
    <main class={`main learn ${panels.value.width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }}>
      <h1 class="sr">Learn</h1>
      <PanelPlace side="left">
        <aside class="panel" aria-label={isExercises ? "Exercises" : "Expression"}>
          {!store.isOneFile.value && <Modes />}
          {isExercises ? <ExerciseList /> : <ExpressionPanel />}
        </aside>
      </PanelPlace>
      {isExercises ? <ExerciseSheet /> : <LessonStage />}
      <PanelPlace side="right">{isExercises ? <ReferencePanel /> : <StepPanel />}</PanelPlace>
      {!isExercises && <StepBar />}
      <div class="sr" role="status" aria-label="State of the steps">
        {sentence()}
      </div>
    </main>
  );
}

function Modes() {
  return (
    <div class="learn-modes">
      <Segments
        label="What to do"
        words={[
          ["expressions", "Expressions", "Step through an expression"],
          ["exercises", "Exercises", "Find gradients yourself"],
        ]}
        chosen={store.pageMode.value}
        choose={(mode) => (store.pageMode.value = mode)}
        isWide
      />
      <HidePanel side="left" label="Hide the left panel" />
    </div>
  );
}

/** Says aloud what the step is, for those who do not see it. */
function sentence(): string {
  const [node, step] = [store.currentNode.value, store.backwardStep.value];
  // Played, it would talk without an end.
  if (store.pageMode.value === "exercises" || store.isPlaying.value || node === null) return "";
  const place = `Step ${store.step.value} of ${store.count.value}`;
  if (step === null) return `${place}: ${written(node)}.`;
  return `${place}, ${step.title}: ${readFormula(step.formula).said}.`;
}

/** The right panel of the exercises: what may be written in an answer. */
function ReferencePanel() {
  // An answer is one expression.
  const lines = (store.catalogue.value?.functions ?? []).filter((line) => !line.startsWith("statements:"));
  return (
    <aside class="panel" aria-label="What may be written">
      <div class="panel-head ruled">
        <h2>What may be written</h2>
        <span class="grow" />
        <HidePanel side="right" label="Hide the right panel" />
      </div>
      {/* It scrolls, so it can have the focus. */}
      <div class="panel-body functions" tabIndex={0} role="region" aria-label="Functions">
        <p class="dim fs-2">An expression of the names that are given, with + - * / ** @ and these:</p>
        <ReferenceLines lines={lines} />
      </div>
    </aside>
  );
}

// --- The keys of the steps and of the drawing, wherever on the page the focus is, but for fields and lists.

const KEYS: Readonly<Record<string, () => void>> = {
  " ": store.togglePlaying,
  b: () => store.setDirection(store.direction.peek() === "backward" ? "forward" : "backward"),
  Enter: store.reveal,
  Escape: () => (store.lookedAt.value = null),
  "0": fit,
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
};

function actOnKey(event: KeyboardEvent): boolean {
  if (store.pageMode.peek() !== "expressions" || isTaken(event)) return false;
  const to = keyStep(event, store.step.peek() - 1, store.count.peek());
  const action = typeof to === "number" ? () => store.goToStep(to + 1) : KEYS[event.key];
  action?.();
  return action !== undefined;
}

/** Does the key belong to what has the focus, or to a window above? */
function isTaken({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  // What can be pressed is pressed by these.
  const isPress = key === " " || key === "Enter";
  return target.closest(isPress ? "dialog, .listbox, button, a, summary" : "dialog, .listbox") !== null;
}

/** One exercise: what is asked, what is given, and a field for each gradient. */
function ExerciseSheet() {
  const now = work.exercise.value;
  if (now === null) {
    return (
      <section class="canvas" aria-label="Exercise">
        {store.catalogue.value === null ? <Busy title="Asking for the exercises" /> : <Blank icon="search" title="There are no exercises here" />}
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
        <Hint text={work.complaint.value} />
        <Next isSolved={now.is_solved} />
      </div>
    </section>
  );
}

function Next({ isSolved }: { isSolved: boolean }) {
  const next = work.nextExercise.value;
  if (work.numSolved.value === work.exercises.value.length) return <p class="dim">All exercises are solved.</p>;
  if (next === null) return null;
  return (
    <div class="row">
      <button class={isSolved ? "btn primary" : "btn"} onClick={() => work.chooseExercise(next.id)}>
        Next exercise
        <Icon name="right" />
      </button>
      <span class="muted fs-2 clip">{next.title}</span>
    </div>
  );
}

/** The left panel of the exercises: all of them, which are solved, and a way to begin anew. */
function ExerciseList() {
  const all = work.exercises.value;
  const now = all.findIndex(({ id }) => id === work.exercise.value?.id);
  return (
    <>
      <div class="panel-head ruled">
        <h2>Exercises</h2>
        <span class="grow" />
        <ShareBar label="Exercises solved" now={work.numSolved.value} most={all.length} style="exercise-bar" />
        <span class="muted fs-1" data-testid="progress">
          {work.numSolved.value} of {all.length}
        </span>
      </div>
      <RowList
        label="Exercises"
        name="exercise"
        style="exercise-list"
        rows={all.map(({ title, is_solved }) => ({
          title,
          words: <span class="grow clip">{title}</span>,
          done: is_solved ? "solved" : "",
        }))}
        now={now}
        choose={(at) => work.chooseExercise(all[at]!.id)}
      />
      {work.numSolved.value > 0 && <Reset />}
    </>
  );
}

/** Asked once more: what was solved is gone then. */
function Reset() {
  const [isAsked, setIsAsked] = useState(false);
  const against = store.whyNotAsk();
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
          void work.resetProgress();
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

/** A gradient to be found: a field, what is said of the answer, and hints one by one. */
function HoleField({ hole }: { hole: Hole }) {
  const { symbol } = hole;
  const { text, verdict, isRight } = work.workOn(hole);
  const against = store.whyNotAsk();
  const missing = text.trim() === "" ? "Type an expression first." : "";
  const submit = (event: Event): void => {
    event.preventDefault();
    if (against === "") void work.checkAnswer(hole);
  };
  return (
    <form class="hole" aria-label={`Gradient of ${symbol}`} onSubmit={submit}>
      <div class="hole-line">
        <FormulaView latex={hole.formula} isInline />
        <span class="sign" aria-hidden="true">
          =
        </span>
        <input
          class={verdict?.is_right === false ? "input mono bad" : "input mono"}
          aria-label={`Gradient of ${symbol}`}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={text}
          onInput={(event) => work.typeAnswer(hole, event.currentTarget.value)}
        />
        <ActButton
          against={against || missing}
          hint="Is it right? (Enter)"
          label={`Check the gradient of ${symbol}`}
          act={submit}
        >
          Check
        </ActButton>
      </div>
      <div class="hole-said" role="status">
        {work.checkingHole.value === symbol && <span class="muted fs-2">Checking</span>}
        {(isRight || verdict !== null) && <Said isRight={isRight} message={verdict?.message ?? "Right."} />}
      </div>
      {verdict !== null && <VerdictCells verdict={verdict} />}
      <Hints hole={hole} />
    </form>
  );
}

/** What an answer gave on the example, beside what was wanted. */
function VerdictCells({ verdict: { got, wanted, is_right } }: { verdict: Verdict }) {
  if (got === null && wanted === null) return null;
  return (
    <div class="verdict-cells">
      {got !== null && <NumberTable cells={got} ink="own" label={is_right ? "what it gives" : "got"} />}
      {!is_right && wanted !== null && <NumberTable cells={wanted} ink="own" label="wanted" />}
    </div>
  );
}

/** Hints, one more with each press; after the last of them the solution. */
function Hints({ hole }: { hole: Hole }) {
  const { numHints: taken, isRight } = work.workOn(hole);
  const isAll = taken >= hole.hints.length;
  const isSolution = taken > hole.hints.length;
  const next = `Hint ${taken + 1} of ${hole.hints.length}`;
  return (
    <div class="hints">
      <ol aria-live="polite">
        {hole.hints.slice(0, taken).map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
        {isSolution && (
          <li>
            Solution: <code>{hole.solution}</code>
          </li>
        )}
      </ol>
      {!isSolution && !isRight && (
        <button class="link" type="button" aria-label={`${isAll ? "Show the solution" : next} for the gradient of ${hole.symbol}`} onClick={() => work.takeHint(hole)}>
          {isAll ? "Show the solution" : taken === 0 ? "Hint" : next}
        </button>
      )}
    </div>
  );
}
