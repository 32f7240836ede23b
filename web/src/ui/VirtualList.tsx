/** A list of rows of one height, of which only those in view are in the page when there are many. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { rowsInView, scrollFor } from "./visible-rows";

export const ROW_HEIGHT = 24;

interface Props {
  count: number;
  /** Row to keep in view, -1 for none; each new `focusTick` asks again. */
  active: number;
  role: "tree" | "listbox";
  label: string;
  id: string;
  renderRow: (at: number) => ComponentChildren;
  onKeyDown: (event: KeyboardEvent) => void;
  activeId: string | undefined;
}

export function VirtualList({ count, active, role, label, id, renderRow, onKeyDown, activeId }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null || active < 0) return;
    const to = scrollFor(active, ROW_HEIGHT, element.scrollTop, element.clientHeight);
    if (to !== null) element.scrollTop = to;
  }, [active, count]);
  const { first, end } = rowsInView(count, ROW_HEIGHT, view.top, view.height);
  const rows: JSX.Element[] = [];
  for (let at = first; at < end; at++)
    rows.push(
      <li key={at} role="presentation">
        {renderRow(at)}
      </li>,
    );
  return (
    <div
      class="panel-body"
      ref={box}
      onScroll={(event) =>
        setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })
      }
    >
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
        {rows}
      </ul>
    </div>
  );
}
