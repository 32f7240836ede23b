/** Backpropagation stepped to and fro: an expression, its graph, the step; and exercises. */
import { useEffect } from "preact/hooks";
import { PanelPlace } from "../shell/PanelPlace";
import { panels, panelWidth } from "../shell/panels";
import { Segments } from "../shell/Segments";
import * as page from "../store";
import { followLearnAddress } from "./addressing";
import { ExerciseList } from "./exercises/ExerciseList";
import { ExerciseSheet } from "./exercises/ExerciseSheet";
import { ReferencePanel } from "./exercises/ReferencePanel";
import { ExpressionPanel } from "./expression/ExpressionPanel";
import { HideButton } from "./HideButton";
import { LearnNews } from "./LearnNews";
import { startLessons } from "./lessons";
import { LessonStage } from "./LessonStage";
import { startPlaying } from "./playing";
import { StepPanel } from "./step/StepPanel";
import { StepBar } from "./StepBar";
import { pageMode } from "./store";
import { useLearnKeys } from "./useLearnKeys";
import { isOneFile } from "./wording";
import "../tensors/timebar.css";
import "./learn.css";
import "./step/step.css";
import "./exercises/exercises.css";

export function LearnPage() {
  const source = page.source.value;
  useEffect(() => {
    const stops = [followLearnAddress(), startPlaying(), ...(source === null ? [] : [startLessons(source)])];
    return () => stops.forEach((stop) => stop());
  }, [source]);
  useLearnKeys();
  const { left, right } = panelWidth.value;
  const isExercises = pageMode.value === "exercises";
  return (
    <main class={`main learn ${panels.value.width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }}>
      <h1 class="sr">Learn</h1>
      <PanelPlace side="left">
        <aside class="panel" aria-label={isExercises ? "Exercises" : "Expression"}>
          {!isOneFile.value && <Modes />}
          {isExercises ? <ExerciseList /> : <ExpressionPanel />}
        </aside>
      </PanelPlace>
      {isExercises ? <ExerciseSheet /> : <LessonStage />}
      <PanelPlace side="right">{isExercises ? <ReferencePanel /> : <StepPanel />}</PanelPlace>
      {!isExercises && <StepBar />}
      <LearnNews />
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
        chosen={pageMode.value}
        choose={(mode) => (pageMode.value = mode)}
        isWide
      />
      <HideButton side="left" />
    </div>
  );
}
