/** In the top bar: a button that says what is shown and, under it, a list to choose another from. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";
import { useRowsInView } from "./scroll";

interface Props {
  /** Of the list. */
  label: string;
  /** Asked for only while the list is open. */
  options: () => readonly Option[];
  /** Its id; empty for none. */
  chosen: string;
  /** Where the keys begin, if not at the one that is chosen. */
  from?: string;
  choose: (id: string) => void;
  onOpen?: () => void;
  /** What the button says. */
  children: ComponentChildren;
}

export function Picker({ label, options, chosen, from = chosen, choose, onOpen, children }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const flip = (): void => {
    if (!isOpen) onOpen?.();
    setIsOpen(!isOpen);
  };
  return (
    <div class="picker" ref={box}>
      <button class="btn quiet subject" aria-haspopup="listbox" aria-expanded={isOpen} onClick={flip}>
        {children}
        <Icon name="down" />
      </button>
      {isOpen && (
        <OptionList
          label={label}
          options={options()}
          chosen={chosen}
          from={from}
          onClose={close}
          onChoose={(id) => {
            close();
            choose(id);
          }}
        />
      )}
    </div>
  );
}

// --- A list to choose from, by keys or pointer, with headings where it has any. Of many rows, those in view
//   are in the page.

const ROW_HEIGHT = 28;

/** Something to choose or, with `id` null, a heading of what follows. */
export interface Option {
  readonly id: string | null;
  readonly name: string;
  readonly detail: string;
  readonly title?: string;
  /** There, but with nothing to see. */
  readonly isMuted?: boolean;
}

interface OptionListProps {
  label: string;
  options: readonly Option[];
  /** Its id; empty for none. */
  chosen: string;
  /** Where the keys begin, if not at the one that is chosen. */
  from?: string;
  onChoose: (id: string) => void;
  onClose: () => void;
}

function OptionList({ label, options, chosen, from = chosen, onChoose, onClose }: OptionListProps) {
  const begin = options.findIndex(({ id }) => id !== null && id === from);
  const [active, setActive] = useState(begin < 0 ? next(options, -1, 1) : begin);
  const list = useRef<HTMLUListElement>(null);
  const { first, end, reveal } = useRowsInView(list, options.length, ROW_HEIGHT);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  useEffect(() => reveal(active), [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = target(options, active, event.key);
    const id = options[active]?.id ?? null;
    if (to !== null) setActive(to);
    else if (event.key === "Escape") onClose();
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (id !== null) onChoose(id);
    event.preventDefault();
    event.stopPropagation();
  };
  const name = (at: number): string => `${label.toLowerCase()}-${at}`;
  return (
    <ul
      class="listbox"
      role="listbox"
      aria-label={label}
      tabIndex={-1}
      ref={list}
      aria-activedescendant={name(active)}
      onKeyDown={onKeyDown}
    >
      {first > 0 && <li aria-hidden="true" style={{ height: `${first * ROW_HEIGHT}px` }} />}
      {options.slice(first, end).map((option, offset) => {
        const at = first + offset;
        const { id } = option;
        if (id === null) {
          return (
            <li key={at} class="heading" role="presentation">
              <Words option={option} />
            </li>
          );
        }
        return (
          <li
            key={at}
            id={name(at)}
            role="option"
            aria-selected={id === chosen}
            class={at === active ? "active" : ""}
            title={option.title}
            // Not mouseenter: a list that opens under a resting mouse would take the choice from the keyboard.
            onMouseMove={(event) => hasMoved(event) && setActive(at)}
            onClick={() => onChoose(id)}
          >
            <Words option={option} />
          </li>
        );
      })}
      {end < options.length && <li aria-hidden="true" style={{ height: `${(options.length - end) * ROW_HEIGHT}px` }} />}
    </ul>
  );
}

function Words({ option }: { option: Option }) {
  return (
    <>
      <span class={option.isMuted === true ? "clip muted" : "clip"}>{option.name}</span>
      <span class="muted clip detail">{option.detail}</span>
    </>
  );
}

/** The row that a key leads to; null where it leads to none. */
function target(options: readonly Option[], active: number, key: string): number | null {
  if (key === "ArrowDown") return next(options, active, 1);
  if (key === "ArrowUp") return next(options, active, -1);
  if (key === "Home") return next(options, -1, 1);
  return key === "End" ? next(options, options.length, -1) : null;
}

/** The next to choose from a row on, over headings; the same row where there is none. */
function next(options: readonly Option[], from: number, by: number): number {
  for (let at = from + by; at >= 0 && at < options.length; at += by) if (options[at]!.id !== null) return at;
  return Math.max(0, Math.min(from, options.length - 1));
}

/** Whether the mouse itself moved: browsers send moves, too, when the page moved under it. */
function hasMoved(event: MouseEvent): boolean {
  return event.movementX !== 0 || event.movementY !== 0;
}

// --- A button with something that opens under it, and closes with Escape or a press outside.

interface PopoverProps {
  label: string;
  button: ComponentChildren;
  children: ComponentChildren;
}

export function Popover({ label, button, children }: PopoverProps) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  return (
    <div class="picker" ref={box} onKeyDown={onKeyDown}>
      <button
        class="btn quiet"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {button}
      </button>
      {isOpen && (
        <div class="popover" role="dialog" aria-label={label}>
          {children}
        </div>
      )}
    </div>
  );
}

/** Call `close` when the pointer is pressed anywhere else. */
function useCloseOutside(
  box: { current: HTMLElement | null },
  isOpen: boolean,
  close: () => void,
): void {
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPointerDown = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) close();
    };
    addEventListener("pointerdown", onPointerDown);
    return () => removeEventListener("pointerdown", onPointerDown);
  }, [isOpen]);
}
