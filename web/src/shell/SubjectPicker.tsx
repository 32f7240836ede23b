/** Which pass is shown; a list to choose from where there are several. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { openPass } from "../session";
import type { PassListing } from "../source/source";
import * as store from "../store";
import { Icon } from "./Icon";

export function SubjectPicker() {
  const passes = store.source.value?.passes.value ?? [];
  const current = passes.find((pass) => pass.id === store.passId.value);
  const name = current?.name ?? store.document.value?.model_name;
  if (name === undefined) return null;
  const subject = <Subject name={name} detail={current?.detail ?? ""} />;
  return passes.length < 2 ? (
    <span class="subject">{subject}</span>
  ) : (
    <Picker passes={passes}>{subject}</Picker>
  );
}

function Picker({ passes, children }: { passes: readonly PassListing[]; children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const choose = (pass: PassListing): void => {
    close();
    if (pass.id !== store.passId.value) void openPass(pass);
  };
  const flip = (): void => {
    if (!isOpen) store.source.value?.refreshPasses();
    setIsOpen(!isOpen);
  };
  return (
    <div class="picker" ref={box}>
      <button class="btn quiet subject" aria-haspopup="listbox" aria-expanded={isOpen} onClick={flip}>
        {children}
        <Icon name="down" />
      </button>
      {isOpen && <PassList passes={passes} onChoose={choose} onClose={close} />}
    </div>
  );
}

function Subject({ name, detail }: { name: string; detail: string }) {
  return (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted clip">{detail}</span>}
    </>
  );
}

interface ListProps {
  passes: readonly PassListing[];
  onChoose: (pass: PassListing) => void;
  onClose: () => void;
}

function PassList({ passes, onChoose, onClose }: ListProps) {
  const current = passes.findIndex((pass) => pass.id === store.passId.value);
  const [active, setActive] = useState(Math.max(0, current));
  const list = useRef<HTMLUListElement>(null);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      Home: 0,
      End: passes.length - 1,
    };
    const to = steps[event.key];
    if (to !== undefined) setActive(Math.max(0, Math.min(to, passes.length - 1)));
    else if (event.key === "Enter" || event.key === " ") onChoose(passes[active]!);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ul
      class="listbox"
      role="listbox"
      aria-label="Passes"
      tabIndex={-1}
      ref={list}
      aria-activedescendant={`pass-${active}`}
      onKeyDown={onKeyDown}
    >
      {passes.map((pass, at) => (
        <li
          key={pass.id}
          id={`pass-${at}`}
          role="option"
          aria-selected={pass.id === store.passId.value}
          class={at === active ? "active" : ""}
          // Not mouseenter: a list that opens under a resting mouse would take the choice from the keyboard.
          onMouseMove={(event) => hasMoved(event) && setActive(at)}
          onClick={() => onChoose(pass)}
        >
          <span class="clip">{pass.name}</span>
          <span class="muted clip">{pass.detail}</span>
        </li>
      ))}
    </ul>
  );
}

/** Whether the mouse itself moved: browsers send moves, too, when the page moved under it. */
function hasMoved(event: MouseEvent): boolean {
  return event.movementX !== 0 || event.movementY !== 0;
}

function useCloseOutside(box: { current: HTMLElement | null }, isOpen: boolean, close: () => void): void {
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPointerDown = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) close();
    };
    addEventListener("pointerdown", onPointerDown);
    return () => removeEventListener("pointerdown", onPointerDown);
  }, [isOpen]);
}
