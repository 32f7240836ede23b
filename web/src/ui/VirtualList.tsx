/** A list of rows of one height, of which only those in view are in the page when there are many. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useRowsInView } from "./scroll";

export const ROW_HEIGHT = 24;

interface Props {
  count: number;
  /** Row to keep in view, -1 for none; each new `focusTick` asks again. */
  active: number;
  role: "tree" | "listbox";
  label: string;
  id: string;
  renderRow: (at: number) => ComponentChildren;
  onKeyDown: (event: KeyboardEvent) => unknown;
  activeId: string | undefined;
}

export function VirtualList({ count, active, role, label, id, renderRow, onKeyDown, activeId }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { first, end, reveal } = useRowsInView(box, count, ROW_HEIGHT);
  useEffect(() => {
    if (active >= 0) reveal(active);
  }, [active, count]);
  return (
    <div class="panel-body" ref={box}>
      <ul
        class="rows"
        id={id}
        role={role}
        aria-label={label}
        tabIndex={0}
        aria-activedescendant={activeId}
        onKeyDown={onKeyDown}
        style={{ height: `${count * ROW_HEIGHT}px`, paddingTop: `${first * ROW_HEIGHT}px` }}
      >
        {Array.from({ length: end - first }, (_, nth) => (
          <li key={first + nth} role="presentation">
            {renderRow(first + nth)}
          </li>
        ))}
      </ul>
    </div>
  );
}
