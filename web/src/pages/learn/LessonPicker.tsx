/** In the top bar: which expression is shown, and a list to choose another example from. */
import { type Option, Picker } from "../../ui/Picker";
import type { Example } from "../../wire";
import { exercise, exercises } from "./exercises/state";
import { chooseExample } from "./lessons";
import { catalogue, exampleId, isOwn, lesson, pageMode, whyNotAsk } from "./store";

export function LessonPicker() {
  const examples = catalogue.value?.examples ?? [];
  return (
    <Picker
      label="Examples"
      options={() => examples.map(optionOf)}
      chosen={isOwn.value ? "" : exampleId.value}
      from={exampleId.value}
      alone={pageMode.value === "exercises" || examples.length === 0 ? "" : undefined}
      choose={(id) => {
        const example = examples.find((one) => one.id === id);
        if (example !== undefined && whyNotAsk() === "") chooseExample(example);
      }}
    >
      <Said />
    </Picker>
  );
}

function optionOf({ id, title, about }: Example, at: number): Option {
  return { id, name: title, detail: String(at + 1), title: about };
}

function Said() {
  const [name, detail] = subject();
  return (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted">{detail}</span>}
    </>
  );
}

function subject(): readonly [name: string, detail: string] {
  const isExercises = pageMode.value === "exercises";
  const at = isExercises
    ? exercises.value.findIndex(({ id }) => id === exercise.value?.id)
    : (catalogue.value?.examples ?? []).findIndex(({ id }) => id === exampleId.value);
  if (isExercises) return [exercise.value?.title ?? "Exercises", at < 0 ? "" : `exercise ${at + 1}`];
  if (lesson.value === null) return ["Choose an example", ""];
  return [lesson.value.title || "Your expression", at < 0 || isOwn.value ? "" : `lesson ${at + 1}`];
}
