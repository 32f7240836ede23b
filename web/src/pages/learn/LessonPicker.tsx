/** In the top bar: which expression is shown, and a list to choose another example from. */
import { Picker } from "../../ui/Picker";
import { exercise, exercises } from "./exercises/state";
import { chooseExample } from "./lessons";
import { catalogue, exampleId, isOwn, lesson, pageMode, whyNotAsk } from "./store";

export function LessonPicker() {
  const examples = catalogue.value?.examples ?? [];
  if (pageMode.value === "exercises" || examples.length === 0) {
    return (
      <span class="subject">
        <Said />
      </span>
    );
  }
  return (
    <Picker
      label="Examples"
      options={() => examples.map(({ id, title, about }, at) => ({ id, name: title, detail: String(at + 1), title: about }))}
      chosen={isOwn.value ? "" : exampleId.value}
      from={exampleId.value}
      choose={(id) => {
        const example = examples.find((one) => one.id === id);
        if (example !== undefined && whyNotAsk() === "") chooseExample(example);
      }}
    >
      <Said />
    </Picker>
  );
}

function Said() {
  const isExercises = pageMode.value === "exercises";
  const [all, id] = isExercises ? [exercises.value, exercise.value?.id] : [catalogue.value?.examples ?? [], exampleId.value];
  const at = (all as readonly { id: string }[]).findIndex((one) => one.id === id) + 1;
  const shown = lesson.value;
  const name = isExercises ? (exercise.value?.title ?? "Exercises") : shown === null ? "Choose an example" : shown.title || "Your expression";
  const isNumbered = at > 0 && (isExercises || (shown !== null && !isOwn.value));
  return (
    <>
      <span class="clip">{name}</span>
      {isNumbered && <span class="muted">{isExercises ? `exercise ${at}` : `lesson ${at}`}</span>}
    </>
  );
}
