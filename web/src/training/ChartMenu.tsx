/** What can be done with a chart, behind one small button. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  readonly title: string;
  readonly press: () => void;
}

export function ChartMenu({ name, items }: { name: string; items: readonly MenuItem[] }) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const onDown = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) !== true) setIsOpen(false);
    };
    addEventListener("pointerdown", onDown, true);
    return () => removeEventListener("pointerdown", onDown, true);
  }, [isOpen]);
  const close = (): void => {
    setIsOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    if (event.key === "Escape") close();
    else if (event.key === "Tab") setIsOpen(false);
    else if (!moveFocus(box.current, event.key)) return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="chart-menu" ref={box} onKeyDown={onKeyDown}>
      <button
        ref={button}
        class="btn quiet sm square"
        aria-label={`Actions of ${name}`}
        title="Actions"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path class="solid" d="M3.500 6.800a1.200 1.200 0 1 1 0 2.400 1.200 1.200 0 0 1 0-2.400zm4.500 0a1.200 1.200 0 1 1 0 2.400 1.200 1.200 0 0 1 0-2.400zm4.500 0a1.200 1.200 0 1 1 0 2.400 1.200 1.200 0 0 1 0-2.400z" />
        </svg>
      </button>
      {isOpen && (
        <ul class="chart-actions" role="menu" aria-label={`Actions of ${name}`}>
          {items.map(({ title, press }) => (
            <li key={title} role="none">
              <button
                role="menuitem"
                tabIndex={-1}
                onClick={() => {
                  close();
                  press();
                }}
              >
                {title}
              </button>
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}

/** True where the key moves within the list. */
function moveFocus(box: HTMLElement | null, key: string): boolean {
  const items = [...(box?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const at = items.findIndex((item) => item === document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[key];
  if (to === undefined) return false;
  items.at(to >= items.length ? 0 : to)?.focus();
  return true;
}
