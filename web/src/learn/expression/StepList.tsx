/** All steps of the way, with those that are done; the arrow keys go through them. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../shell/Icon";
import type { Lesson } from "../../wire";
import { stepRows, type StepRow } from "../steps";
import * as store from "../store";

/** As wide as the longest name, within reason. */
function nameWidth(rows: readonly StepRow[]): number {
  return Math.min(11, Math.max(5, ...rows.map(({ target }) => target.length)));
}

export function StepList({ lesson }: { lesson: Lesson }) {
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
