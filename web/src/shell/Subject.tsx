/** In the top bar: what the view is about: a pass, a run, a training, a set of features, an expression, or the folder of the runs. */
import { ControlPicker } from "../control/ControlPicker";
import { FeaturePicker } from "../features/FeaturePicker";
import { formatNumberOf } from "../format";
import { LessonPicker } from "../learn/LessonPicker";
import * as runs from "../runs/store";
import { RunPicker } from "../netview/RunPicker";
import { SubjectPicker } from "./SubjectPicker";
import { shownArea } from "./views";

export function Subject() {
  if (shownArea.value === "graph") return <SubjectPicker />;
  if (shownArea.value === "netview") return <RunPicker />;
  if (shownArea.value === "control") return <ControlPicker />;
  if (shownArea.value === "features") return <FeaturePicker />;
  if (shownArea.value === "learn") return <LessonPicker />;
  const { folder, runs: all } = runs;
  if (folder.value === "") return null;
  return (
    <span class="subject" title={folder.value}>
      <span class="clip">{folder.value}</span>
      <span class="muted">{formatNumberOf(all.value.length, "run")}</span>
    </span>
  );
}
