/** The middle of the page: the graph, or what stands there while there is none. */
import { Blank } from "../shell/Blank";
import { CancelLoading } from "./CancelLoading";
import { ExamplePicker } from "./ExamplePicker";
import { LessonGraph } from "./graph/LessonGraph";
import { beginEditing, runOwn } from "./lessons";
import * as store from "./store";

export function LessonStage() {
  const opening = store.opening.value;
  const lesson = store.lesson.value;
  return (
    <section class="canvas" aria-label="Graph" aria-busy={opening.state === "loading"}>
      {lesson === null ? <Instead /> : lesson.nodes.length === 0 ? <NoNodes /> : <LessonGraph key="graph" />}
      {lesson !== null && opening.state === "loading" && <LoadingOver title={opening.title} />}
      {lesson !== null && opening.state === "failed" && !store.isEditing.value && <FailedOver reason={opening.reason} />}
    </section>
  );
}

function Instead() {
  const opening = store.opening.value;
  if (opening.state === "failed") {
    return (
      <Blank icon="warning" title="This expression cannot be taken apart" isError>
        <span>{opening.reason}</span>
        <button class="btn" onClick={() => void runOwn(store.sourceText.peek())}>
          Try again
        </button>
      </Blank>
    );
  }
  if (opening.state !== "loading") return <ExamplePicker />;
  return (
    <>
      <Skeleton />
      <div class="blank fill learn-late" aria-busy="true">
        <b>Taking {opening.title} apart</b>
        <div class="bar moving" role="progressbar" aria-label={`Taking ${opening.title} apart`}>
          <i />
        </div>
        <CancelLoading />
      </div>
    </>
  );
}

/** What is shown stays; another is on its way. */
function LoadingOver({ title }: { title: string }) {
  return (
    <>
      <div class="bar moving learn-loading late" role="progressbar" aria-label={`Taking ${title} apart`}>
        <i />
      </div>
      <div class="float learn-over learn-late">
        <span>Taking {title} apart. What is shown is the one before.</span>
        <CancelLoading />
      </div>
    </>
  );
}

/** For a moment: cards without anything on them. */
function Skeleton() {
  return (
    <div class="learn-skeleton late" aria-hidden="true">
      {[0, 1, 2, 3].map((at) => (
        <i key={at} class="skeleton" />
      ))}
    </div>
  );
}

/** A fault in the first line: nothing to draw. */
function NoNodes() {
  const fault = store.lesson.value?.fault ?? null;
  return (
    <Blank icon="warning" title={fault === null ? "There is nothing to compute here" : "Nothing could be computed"} isError={fault !== null}>
      {fault !== null && (
        <span>
          {fault.line > 0 && `Line ${fault.line}: `}
          {fault.message}
        </span>
      )}
      <button class="btn" onClick={beginEditing}>
        Edit
      </button>
    </Blank>
  );
}

function FailedOver({ reason }: { reason: string }) {
  return (
    <div class="float learn-over failed" role="alert">
      <b>The new expression could not be taken apart.</b>
      <span>{reason} What is shown is the one before.</span>
      <button class="btn sm" onClick={() => (store.opening.value = { state: "shown" })}>
        Close
      </button>
    </div>
  );
}
