/** The left panel where an expression is gone through: its lines, and below them its steps. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { ActButton } from "../../../ui/ActButton";
import { Hint, Skeletons } from "../../../ui/Blank";
import type { Lesson } from "../../../wire";
import { RowList } from "../RowList";
import { beginEditing, chooseExample, runDraft } from "../lessons";
import * as store from "../store";

export function ExpressionPanel() {
  const lesson = store.lesson.value;
  return (
    <>
      <div class="panel-head ruled">
        <h2>Expression</h2>
        <span class="grow" />
        {!store.isOneFile.value && <ExampleSelect />}
        {!store.isOneFile.value && !store.isEditing.value && (
          <ActButton style="quiet sm" against={store.whyNotAsk()} hint="Change the expression" act={beginEditing}>
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
      {store.isOneFile.value && (
        <p class="learn-quiet">One file: the numbers are in it. Editing and exercises need the server: torcheer learn.</p>
      )}
      {lesson !== null && <StepList />}
    </>
  );
}

function ExampleSelect() {
  const examples = store.catalogue.value?.examples ?? [];
  const against = store.whyNotAsk();
  const choose = (id: string): void => {
    const example = examples.find((one) => one.id === id);
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
      onChange={(event) => choose(event.currentTarget.value)}
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
    return <Skeletons widths={["70%", "40%", "88%", "60%", "52%"]} />;
  }
  return <p class="pad-s muted fs-2">Choose an example, or write your own with Edit.</p>;
}

/** The lines of the expression, with the one that the step is about, and the one that is wrong. */
function CodeLines({ lesson }: { lesson: Lesson }) {
  const box = useRef<HTMLDivElement>(null);
  const now = store.currentNode.value?.line ?? 0;
  useLayoutEffect(() => {
    box.current?.querySelector(".on")?.scrollIntoView({ block: "nearest" });
  }, [now]);
  const { lines, first_line, fault } = lesson;
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return (
    <div class="code" ref={box} tabIndex={0} role="region" aria-label="Lines of the expression">
      {fault?.line === 0 && <FaultText message={fault.message} />}
      {lines.slice(0, last + 1).map((line, at) => {
        const number = first_line + at;
        const isBad = fault?.line === number;
        return (
          <div key={at}>
            <div
              class={`code-line ${number === now ? "on" : ""} ${isBad ? "bad" : ""}`}
              aria-current={number === now ? "step" : undefined}
            >
              <span class="line-no">{number}</span>
              <span>{line === "" ? " " : line}</span>
            </div>
            {isBad && <FaultText message={fault.message} />}
          </div>
        );
      })}
    </div>
  );
}

function FaultText({ message }: { message: string }) {
  return (
    <p class="code-fault" role="alert">
      {message}
    </p>
  );
}

/** All steps of the way, with those that are done; the arrow keys go through them. */
function StepList() {
  const rows = store.steps.value;
  const now = store.step.value;
  const title = store.direction.value === "backward" ? "Backward steps" : "Forward steps";
  return (
    <>
      <div class="panel-head rule-t">
        <h2>{title}</h2>
        <span class="grow" />
        <span class="muted fs-1">{rows.length === 0 ? "none" : `${now} of ${rows.length}`}</span>
      </div>
      {rows.length === 0 && <p class="pad-s muted fs-2">Nothing was computed yet.</p>}
      <RowList
        label={title}
        name="learn-step"
        style=""
        rows={rows.map(({ title, target }, at) => ({
          title,
          words: (
            <>
              <span class="mono clip target">{target}</span>
              <span class="grow clip">{title}</span>
            </>
          ),
          done: at + 1 < now ? "done" : "",
          isLater: at + 1 > now,
        }))}
        now={now - 1}
        choose={(at) => store.goToStep(at + 1)}
        // As wide as the longest name, within reason.
        nameWidth={`${Math.min(11, Math.max(5, ...rows.map(({ target }) => target.length)))}ch`}
      />
    </>
  );
}

/** The expression as a text to change, with the line that was wrong the last time. */
function Editor() {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const against = store.whyNotAsk();
  const run = (): void => {
    if (against === "") void runDraft();
  };
  const cancel = (): void => {
    store.isEditing.value = false;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
    else if (event.key === "Escape") cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isSame = store.draft.value === store.sourceText.value;
  return (
    <div class="editor" onKeyDown={onKeyDown}>
      <textarea
        ref={field}
        aria-label="Expression"
        aria-invalid={isSame && store.faultText.value !== ""}
        spellcheck={false}
        autocapitalize="off"
        rows={Math.max(8, Math.min(22, store.draft.value.split("\n").length + 1))}
        value={store.draft.value}
        onInput={(event) => (store.draft.value = event.currentTarget.value)}
      />
      <Hint text={isSame ? store.faultText.value : ""} />
      <Hint text={store.opening.value.state === "failed" ? store.opening.value.reason : ""} />
      <div class="row">
        <ActButton style="primary sm" against={against} hint="Take it apart (Ctrl Enter)" act={run}>
          Run
        </ActButton>
        <button class="btn sm" onClick={cancel}>
          Cancel
        </button>
        <span class="grow" />
        {against !== "" && <span class="muted fs-1">{against}</span>}
      </div>
      <Functions />
    </div>
  );
}

function Functions() {
  const all = store.catalogue.value?.functions ?? [];
  if (all.length === 0) return null;
  return (
    <details class="functions" aria-label="What may be written">
      <summary>What may be written</summary>
      <ReferenceLines lines={all} />
    </details>
  );
}

/** Lines that say what something is: `shapes: reshape(x, sizes), …`, the word before the colon set apart. */
export function ReferenceLines({ lines }: { lines: readonly string[] }) {
  return (
    <dl class="reference">
      {lines.map((line) => {
        const [, term, rest] = /^([^:]+):\s*([\s\S]*)$/.exec(line) ?? [undefined, "", line];
        return (
          <div key={line}>
            <dt>{term}</dt>
            <dd>{rest}</dd>
          </div>
        );
      })}
    </dl>
  );
}
