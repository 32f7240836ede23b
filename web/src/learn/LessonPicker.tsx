/** In the top bar: which expression is shown, and a list to choose another example from. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../shell/Icon";
import { useCloseOutside } from "../shell/Popover";
import type { Example } from "../wire";
import { exercise, exercises } from "./exercises/state";
import { chooseExample } from "./lessons";
import { catalogue, exampleId, isOwn, lesson, pageMode } from "./store";
import { whyNotAsk } from "./wording";

export function LessonPicker() {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const examples = catalogue.value?.examples ?? [];
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  if (pageMode.value === "exercises" || examples.length === 0) {
    return (
      <span class="subject">
        <Said />
      </span>
    );
  }
  return (
    <div class="picker" ref={box}>
      <button class="btn quiet subject" aria-haspopup="listbox" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Said />
        <Icon name="down" />
      </button>
      {isOpen && (
        <Options
          examples={examples}
          close={close}
          choose={(example) => {
            close();
            if (whyNotAsk() === "") chooseExample(example);
          }}
        />
      )}
    </div>
  );
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
  return pageMode.value === "exercises" ? exerciseSubject() : lessonSubject();
}

function exerciseSubject(): readonly [string, string] {
  const at = exercises.value.findIndex(({ id }) => id === exercise.value?.id);
  return [exercise.value?.title ?? "Exercises", at < 0 ? "" : `exercise ${at + 1}`];
}

function lessonSubject(): readonly [string, string] {
  if (lesson.value === null) return ["Choose an example", ""];
  const { title } = lesson.value;
  const at = (catalogue.value?.examples ?? []).findIndex(({ id }) => id === exampleId.value);
  return [title === "" ? "Your expression" : title, at < 0 || isOwn.value ? "" : `lesson ${at + 1}`];
}

interface OptionsProps {
  examples: readonly Example[];
  choose: (example: Example) => void;
  close: () => void;
}

function Options({ examples, choose, close }: OptionsProps) {
  const [active, setActive] = useState(Math.max(0, examples.findIndex(({ id }) => id === exampleId.value)));
  const list = useRef<HTMLUListElement>(null);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: examples.length - 1 }[event.key];
    const chosen = examples[active];
    if (to !== undefined) setActive(Math.max(0, Math.min(examples.length - 1, to)));
    else if (event.key === "Escape") close();
    else if ((event.key === "Enter" || event.key === " ") && chosen !== undefined) choose(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ul
      class="listbox"
      role="listbox"
      aria-label="Examples"
      tabIndex={-1}
      ref={list}
      aria-activedescendant={`example-${active}`}
      onKeyDown={onKeyDown}
    >
      {examples.map((example, at) => (
        <li
          key={example.id}
          id={`example-${at}`}
          role="option"
          aria-selected={example.id === exampleId.value && !isOwn.value}
          class={at === active ? "active" : ""}
          title={example.about}
          onClick={() => choose(example)}
        >
          <span class="clip">{example.title}</span>
          <span class="muted">{at + 1}</span>
        </li>
      ))}
    </ul>
  );
}
