/** A button with something that opens under it, and closes with Escape or a press outside. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  label: string;
  button: ComponentChildren;
  children: ComponentChildren;
}

export function Popover({ label, button, children }: Props) {
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
export function useCloseOutside(
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
