/** In the top bar: a button that says what is shown and, under it, a list to choose another from. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";
import { actOn } from "./keys";
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
  /** There is nothing else to choose: what the words are about. */
  alone?: string | undefined;
  children: ComponentChildren;
}

export function Picker({ label, options, chosen, from = chosen, choose, onOpen, alone, children }: Props) {
  if (alone !== undefined) {
    return (
      <span class="subject" title={alone || undefined}>
        {children}
      </span>
    );
  }
  return (
    <Opener
      style="btn quiet subject"
      popup="listbox"
      onOpen={onOpen}
      button={
        <>
          {children}
          <Icon name="down" />
        </>
      }
    >
      {(close) => (
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
    </Opener>
  );
}

interface OpenerProps {
  look?: string;
  style: string;
  popup: "listbox" | "dialog" | "menu";
  /** Of the button, where it has no word on it. */
  label?: string;
  title?: string;
  button: ComponentChildren;
  onOpen?: (() => void) | undefined;
  children: (close: () => void) => ComponentChildren;
}

/** A button with something under it, as long as that is open: until Escape, or a press outside. */
export function Opener({ look = "picker", style, popup, label, title, button, onOpen, children }: OpenerProps) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPointerDown = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) === false) setIsOpen(false);
    };
    addEventListener("pointerdown", onPointerDown);
    return () => removeEventListener("pointerdown", onPointerDown);
  }, [isOpen]);
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const flip = (): void => {
    if (!isOpen) onOpen?.();
    setIsOpen(!isOpen);
  };
  return (
    <div class={look} ref={box} onKeyDown={(event) => isOpen && actOn(event, { Escape: close })}>
      <button class={style} aria-label={label} title={title} aria-haspopup={popup} aria-expanded={isOpen} onClick={flip}>
        {button}
      </button>
      {isOpen && children(close)}
    </div>
  );
}

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

interface OptionListProps extends Pick<Props, "label" | "chosen"> {
  options: readonly Option[];
  from: string;
  onChoose: (id: string) => void;
  onClose: () => void;
}

/**
 * A list to choose from, by keys or pointer, with headings where it has any. Of many rows, those in view are in the
 * page.
 */
function OptionList({ label, options, chosen, from, onChoose, onClose }: OptionListProps) {
  const begin = options.findIndex(({ id }) => id !== null && id === from);
  const [active, setActive] = useState(begin < 0 ? next(options, -1, 1) : begin);
  const list = useRef<HTMLUListElement>(null);
  const { first, end, reveal } = useRowsInView(list, options.length, ROW_HEIGHT);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  useEffect(() => reveal(active), [active]);
  const press = (): void => {
    const id = options[active]?.id ?? null;
    if (id !== null) onChoose(id);
  };
  const onKeyDown = (event: KeyboardEvent): boolean =>
    actOn(event, {
      ArrowDown: () => setActive(next(options, active, 1)),
      ArrowUp: () => setActive(next(options, active, -1)),
      Home: () => setActive(next(options, -1, 1)),
      End: () => setActive(next(options, options.length, -1)),
      Escape: onClose,
      Enter: press,
      " ": press,
    });
  const idOf = (at: number): string => `${label.toLowerCase()}-${at}`;
  return (
    <ul
      class="listbox"
      role="listbox"
      aria-label={label}
      tabIndex={-1}
      ref={list}
      aria-activedescendant={idOf(active)}
      onKeyDown={onKeyDown}
    >
      {first > 0 && <li aria-hidden="true" style={{ height: `${first * ROW_HEIGHT}px` }} />}
      {options.slice(first, end).map(({ id, name, detail, title, isMuted }, offset) => {
        const at = first + offset;
        const its =
          id === null
            ? { class: "heading", role: "presentation" as const }
            : {
                id: idOf(at),
                role: "option" as const,
                "aria-selected": id === chosen,
                class: at === active ? "active" : "",
                title,
                // Not mouseenter: a list that opens under a resting mouse would take the choice from the keyboard.
                onMouseMove: (event: MouseEvent) => hasMoved(event) && setActive(at),
                onClick: () => onChoose(id),
              };
        return (
          <li key={at} {...its}>
            <span class={isMuted === true ? "clip muted" : "clip"}>{name}</span>
            <span class="muted clip detail">{detail}</span>
          </li>
        );
      })}
      {end < options.length && <li aria-hidden="true" style={{ height: `${(options.length - end) * ROW_HEIGHT}px` }} />}
    </ul>
  );
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

interface PopoverProps {
  label: string;
  button: ComponentChildren;
  children: ComponentChildren;
}

/** A button with something that opens under it, and closes with Escape or a press outside. */
export function Popover({ label, button, children }: PopoverProps) {
  return (
    <Opener style="btn quiet" popup="dialog" button={button}>
      {() => (
        <div class="popover" role="dialog" aria-label={label}>
          {children}
        </div>
      )}
    </Opener>
  );
}
