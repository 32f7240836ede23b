/** The left panel where an expression is gone through: its lines, and below them its steps. */
import { ActButton } from "../../control/ActButton";
import { beginEditing, chooseExample } from "../lessons";
import * as store from "../store";
import { isOneFile, whyNotAsk } from "../wording";
import { CodeLines } from "./CodeLines";
import { Editor } from "./Editor";
import { StepList } from "./StepList";

export function ExpressionPanel() {
  const lesson = store.lesson.value;
  return (
    <>
      <div class="panel-head ruled">
        <h2>Expression</h2>
        <span class="grow" />
        {!isOneFile.value && <ExampleSelect />}
        {!isOneFile.value && !store.isEditing.value && (
          <ActButton style="quiet sm" against={whyNotAsk()} hint="Change the expression" act={beginEditing}>
            Edit
          </ActButton>
        )}
      </div>
      {store.isEditing.value ? <Editor /> : lesson !== null ? <CodeLines lesson={lesson} /> : <Nothing />}
      {lesson?.notes.map((note) => (
        <p key={note} class="pad-s muted fs-1">
          {note}
        </p>
      ))}
      {isOneFile.value && (
        <p class="learn-quiet">One file: the numbers are in it. Editing and exercises need the server: torcheer learn.</p>
      )}
      {lesson !== null && <StepList lesson={lesson} />}
    </>
  );
}

function ExampleSelect() {
  const examples = store.catalogue.value?.examples ?? [];
  const against = whyNotAsk();
  const choose = (event: Event): void => {
    const select = event.currentTarget as HTMLSelectElement;
    const example = examples.find(({ id }) => id === select.value);
    if (example !== undefined) chooseExample(example);
  };
  const chosen = store.isOwn.value ? "" : store.exampleId.value;
  return (
    <select
      class="input sm example-select"
      aria-label="Example"
      title={against === "" ? undefined : against}
      disabled={against !== "" || examples.length === 0}
      value={chosen}
      onChange={choose}
    >
      <option value="" disabled hidden>
        {store.isOwn.value ? "Your own" : "Choose"}
      </option>
      {examples.map(({ id, title }) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Nothing() {
  if (store.catalogue.value === null && store.catalogueFailure.value === "") {
    return (
      <div class="skeletons late" aria-hidden="true">
        {[70, 40, 88, 60, 52].map((width) => (
          <i key={width} class="skeleton" style={{ width: `${width}%` }} />
        ))}
      </div>
    );
  }
  return <p class="pad-s muted fs-2">Choose an example, or write your own with Edit.</p>;
}
