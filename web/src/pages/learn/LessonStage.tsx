/** The middle of the page: the graph, or what stands there while there is none. */
import { useEffect, useState } from "preact/hooks";
import { Blank, Busy, Failed, MovingBar, Skeletons } from "../../ui/Blank";
import { LessonGraph } from "./graph/LessonGraph";
import { beginEditing, cancelOpening, chooseExample, runOwn, tryCatalogueAgain } from "./lessons";
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
    const retry = (): void => void runOwn(store.sourceText.peek());
    return <Failed title="This expression cannot be taken apart" reason={opening.reason} retry={retry} />;
  }
  if (opening.state !== "loading") return <ExamplePicker />;
  return (
    <>
      {/* For a moment: cards without anything on them. */}
      <Skeletons widths={["", "", "", ""]} style="learn-skeleton late" />
      <Busy title={`Taking ${opening.title} apart`} style="fill learn-late">
        <CancelLoading />
      </Busy>
    </>
  );
}

function LoadingOver({ title }: { title: string }) {
  return (
    <>
      <MovingBar label={`Taking ${title} apart`} style="learn-loading late" />
      <div class="float learn-over learn-late">
        <span>Taking {title} apart. What is shown is the one before.</span>
        <CancelLoading />
      </div>
    </>
  );
}

/** A fault in the first line: nothing to draw. */
function NoNodes() {
  const text = store.faultText.value;
  return (
    <Blank icon="warning" title={text === "" ? "There is nothing to compute here" : "Nothing could be computed"} isError={text !== ""}>
      {text !== "" && <span>{text}</span>}
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

const PATIENCE_MS = 5000;

/** Offered where a lesson takes long: wait no longer for it. */
function CancelLoading() {
  const now = store.opening.value;
  // Which one it is that takes long: another that is asked for meanwhile has its own time.
  const [late, setLate] = useState<typeof now | null>(null);
  useEffect(() => {
    if (now.state !== "loading") return undefined;
    const timer = setTimeout(() => setLate(now), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [now]);
  if (now.state !== "loading" || late !== now) return null;
  return (
    <button class="btn sm" title={`Stop waiting for ${now.title}`} onClick={cancelOpening}>
      Cancel
    </button>
  );
}

/** Where no expression is chosen yet: all examples, each with what it shows. */
function ExamplePicker() {
  const all = store.catalogue.value;
  if (all === null) {
    const reason = store.catalogueFailure.value;
    if (reason === "") return <Busy title="Asking for the examples" />;
    return <Failed title="The examples cannot be read" reason={reason} retry={tryCatalogueAgain} />;
  }
  return (
    <div class="example-picker" aria-label="Examples" role="region">
      <h2>Choose an example</h2>
      <p class="dim">Step through it forward and back, and see where each gradient comes from. Edit makes it yours.</p>
      <ol>
        {all.examples.map((example, at) => (
          <li key={example.id}>
            <button
              class="example-card"
              aria-disabled={store.whyNotAsk() !== ""}
              title={store.whyNotAsk() || undefined}
              onClick={() => {
                if (store.whyNotAsk() === "") chooseExample(example);
              }}
            >
              <span class="line-no">{at + 1}</span>
              <b>{example.title}</b>
              <span class="dim">{example.about}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
