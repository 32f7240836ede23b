/** The left panel where an expression is gone through: its lines, and below them its steps. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { ActButton } from "../../../ui/ActButton";
import { Skeletons } from "../../../ui/Blank";
import { Icon } from "../../../ui/Icon";
import type { Lesson } from "../../../wire";
import { ReferenceLines } from "../ReferenceLines";
import { beginEditing, chooseExample, runDraft } from "../lessons";
import { type StepRow, stepRows } from "../steps";
import * as store from "../store";
import {
  catalogue,
  currentLine,
  draft,
  isEditing,
  isOneFile,
  lesson,
  opening,
  sourceText,
  whyNotAsk,
} from "../store";

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
    return <Skeletons widths={["70%", "40%", "88%", "60%", "52%"]} />;
  }
  return <p class="pad-s muted fs-2">Choose an example, or write your own with Edit.</p>;
}

// --- The lines of the expression, with the one that the step is about, and the one that is wrong.

function CodeLines({ lesson }: { lesson: Lesson }) {
  const box = useRef<HTMLDivElement>(null);
  const now = currentLine.value;
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

// --- All steps of the way, with those that are done; the arrow keys go through them.

/** As wide as the longest name, within reason. */
function nameWidth(rows: readonly StepRow[]): number {
  return Math.min(11, Math.max(5, ...rows.map(({ target }) => target.length)));
}

function StepList({ lesson }: { lesson: Lesson }) {
  const list = useRef<HTMLOListElement>(null);
  const rows = stepRows(lesson, store.direction.value);
  const now = store.step.value;
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [now, rows.length]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 1, End: rows.length }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    store.isPlaying.value = false;
    store.setStep(to);
  };
  const isBackward = store.direction.value === "backward";
  return (
    <>
      <div class="panel-head rule-t">
        <h2>{isBackward ? "Backward steps" : "Forward steps"}</h2>
        <span class="grow" />
        <span class="muted fs-1">{rows.length === 0 ? "none" : `${now} of ${rows.length}`}</span>
      </div>
      {rows.length === 0 && <p class="pad-s muted fs-2">Nothing was computed yet.</p>}
      <ol
        class="learn-steps"
        ref={list}
        role="listbox"
        aria-label={isBackward ? "Backward steps" : "Forward steps"}
        tabIndex={rows.length === 0 ? -1 : 0}
        style={{ "--name": `${nameWidth(rows)}ch` }}
        aria-activedescendant={rows.length === 0 ? undefined : `learn-step-${now}`}
        onKeyDown={onKeyDown}
      >
        {rows.map(({ number, target, title }) => (
          <li
            key={number}
            id={`learn-step-${number}`}
            role="option"
            aria-selected={number === now}
            class={number > now ? "later" : ""}
            title={title}
            onClick={() => {
              store.isPlaying.value = false;
              store.setStep(number);
            }}
          >
            <span class="line-no">{number}</span>
            <span class="mono clip target">{target}</span>
            <span class="grow clip">{title}</span>
            {number < now && (
              <>
                <Icon name="check" />
                <span class="sr">done</span>
              </>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

// --- The expression as a text to change, with the line that was wrong the last time.

function Editor() {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const against = whyNotAsk();
  const run = (): void => {
    if (against === "") void runDraft();
  };
  const cancel = (): void => {
    isEditing.value = false;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
    else if (event.key === "Escape") cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const fault = lesson.value?.fault ?? null;
  const isSame = draft.value === sourceText.value;
  return (
    <div class="editor" onKeyDown={onKeyDown}>
      <textarea
        ref={field}
        aria-label="Expression"
        aria-invalid={isSame && fault !== null}
        spellcheck={false}
        autocapitalize="off"
        rows={Math.max(8, Math.min(22, draft.value.split("\n").length + 1))}
        value={draft.value}
        onInput={(event) => (draft.value = event.currentTarget.value)}
      />
      {isSame && fault !== null && (
        <p class="hint" role="alert">
          {fault.line > 0 && `Line ${fault.line}: `}
          {fault.message}
        </p>
      )}
      {opening.value.state === "failed" && (
        <p class="hint" role="alert">
          {opening.value.reason}
        </p>
      )}
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

/** What may be written. */
function Functions() {
  const all = catalogue.value?.functions ?? [];
  if (all.length === 0) return null;
  return (
    <details class="functions" aria-label="What may be written">
      <summary>What may be written</summary>
      <ReferenceLines lines={all} />
    </details>
  );
}
