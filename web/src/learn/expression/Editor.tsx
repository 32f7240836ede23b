/** The expression as a text to change, with the line that was wrong the last time. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { ActButton } from "../../control/ActButton";
import { runDraft } from "../lessons";
import { ReferenceLines } from "../ReferenceLines";
import { catalogue, draft, isEditing, lesson, opening, sourceText } from "../store";
import { whyNotAsk } from "../wording";

export function Editor() {
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
