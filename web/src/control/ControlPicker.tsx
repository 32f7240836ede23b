/** In the top bar: which training is shown, with its seed, and a list to choose another from where there are several. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { setParams } from "../route";
import { Icon } from "../shell/Icon";
import { useCloseOutside } from "../shell/Popover";
import type { ControlListing } from "../wire";
import { control, controlId, controls } from "./store";
import { shownControl } from "./wording";

export function ControlPicker() {
  const all = controls.value ?? [];
  const now = all.find(({ id }) => id === controlId.value);
  if (all.length === 0) return null;
  if (all.length === 1 && now !== undefined) {
    return (
      <span class="subject" title={now.target}>
        <Said name={now.name} />
      </span>
    );
  }
  return <Picker all={all} name={now?.name ?? "Choose a training"} />;
}

function Said({ name }: { name: string }) {
  const now = control.value;
  return (
    <>
      <span class="clip">{name}</span>
      {now !== null && now.listing.id === controlId.value && <span class="muted">seed {now.seed}</span>}
    </>
  );
}

function Picker({ all, name }: { all: readonly ControlListing[]; name: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  return (
    <div class="picker" ref={box}>
      <button class="btn quiet subject" aria-haspopup="listbox" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Said name={name} />
        <Icon name="down" />
      </button>
      {isOpen && (
        <Options
          all={all}
          close={close}
          choose={({ id }) => {
            close();
            setParams({ c: id });
          }}
        />
      )}
    </div>
  );
}

interface OptionsProps {
  all: readonly ControlListing[];
  choose: (one: ControlListing) => void;
  close: () => void;
}

function Options({ all, choose, close }: OptionsProps) {
  const [active, setActive] = useState(Math.max(0, all.findIndex(({ id }) => id === controlId.value)));
  const list = useRef<HTMLUListElement>(null);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: all.length - 1 }[event.key];
    const chosen = all[active];
    if (to !== undefined) setActive(Math.max(0, Math.min(all.length - 1, to)));
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
      aria-label="Trainings"
      tabIndex={-1}
      ref={list}
      aria-activedescendant={`control-${active}`}
      onKeyDown={onKeyDown}
    >
      {all.map((one, at) => (
        <li
          key={one.id}
          id={`control-${at}`}
          role="option"
          aria-selected={one.id === controlId.value}
          class={at === active ? "active" : ""}
          title={one.target}
          onClick={() => choose(one)}
        >
          <span class="clip">{one.name}</span>
          <span class="muted">{shownControl(one).word}</span>
        </li>
      ))}
    </ul>
  );
}
