/** In the top bar: which expression is shown, and a list to choose another example from. */
import { Picker } from "../../ui/Picker";
import { exercise, exercises } from "./exercises/state";
import { chooseExample } from "./lessons";
import { catalogue, exampleId, isOwn, lesson, pageMode, whyNotAsk } from "./store";

export function LessonPicker() {
  const examples = catalogue.value?.examples ?? [];
  const isExercises = pageMode.value === "exercises";
  const [name, detail] = isExercises ? exerciseSaid() : lessonSaid();
  const said = (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted">{detail}</span>}
    </>
  );
  return (
    <Picker
      label="Examples"
      options={() => examples.map(({ id, title, about }, at) => ({ id, name: title, detail: String(at + 1), title: about }))}
      chosen={isOwn.value ? "" : exampleId.value}
      from={exampleId.value}
      alone={isExercises || examples.length === 0 ? "" : undefined}
      choose={(id) => {
        const example = examples.find((one) => one.id === id);
        if (example !== undefined && whyNotAsk() === "") chooseExample(example);
      }}
    >
      {said}
    </Picker>
  );
}

type Said = readonly [name: string, detail: string];

function exerciseSaid(): Said {
  const now = exercise.value;
  return now === null ? ["Exercises", ""] : [now.title, `exercise ${exercises.value.indexOf(now) + 1}`];
}

function lessonSaid(): Said {
  if (lesson.value === null) return ["Choose an example", ""];
  const at = catalogue.value?.examples.findIndex(({ id }) => id === exampleId.value) ?? -1;
  return [lesson.value.title || "Your expression", at < 0 || isOwn.value ? "" : `lesson ${at + 1}`];
}
