/** The points as a table: what the drawing shows, for those who would rather read it. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { rowsInView, scrollFor } from "../../ui/visible-rows";
import { downloadPoints, look, toggleSelected } from "./selection";
import * as store from "./store";

const ROW = 24;

export function PointsTable() {
  const here = store.loaded.value;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  if (here === null) return null;
  const { columns } = here.embedding;
  const shown = store.shown.value;
  const found = store.coordinates.value;
  const axes = found?.record === here.record ? store.axes.value : [];
  const { first, end } = rowsInView(shown.length, ROW, view.top, view.height);
  const chosen = new Set(store.selected.value);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(shown.length - 1, to));
    setActive(next);
    const scroll = box.current === null ? null : scrollFor(next, ROW, box.current.scrollTop, view.height - 28);
    if (scroll !== null && box.current !== null) box.current.scrollTop = scroll;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const point = shown[active];
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      PageDown: () => move(active + 20),
      PageUp: () => move(active - 20),
      Home: () => move(0),
      End: () => move(shown.length - 1),
      Enter: () => point !== undefined && look(point),
      " ": () => point !== undefined && toggleSelected(point),
    };
    const action = keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  return (
    <div class="points-table-box">
      <div class="panel-head">
        <h2>{formatCount(shown.length)} points</h2>
        <span class="grow" />
        <button class="btn sm" onClick={() => downloadPoints([...shown])}>
          CSV
        </button>
      </div>
      <div
        ref={box}
        class="panel-body"
        onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      >
        <table
          class="table points-table"
          role="grid"
          aria-label="Points"
          aria-rowcount={shown.length + 1}
          tabIndex={0}
          onKeyDown={onKeyDown}
        >
          <thead>
            <tr>
              <th>index</th>
              {columns.map(({ name }, at) => (
                <th key={at} class="text">
                  {name}
                </th>
              ))}
              {axes.map((axis) => (
                <th key={`axis ${axis}`}>{found?.method === "pca" ? `PC ${axis + 1}` : `axis ${axis + 1}`}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr style={{ height: `${first * ROW}px` }} aria-hidden="true" />
            {Array.from(shown.subarray(first, end), (point, nth) => (
              <tr
                key={point}
                aria-rowindex={first + nth + 2}
                aria-selected={chosen.has(point) || store.focus.value === point}
                class={first + nth === active ? "active" : ""}
                onClick={(event) => {
                  setActive(first + nth);
                  if (event.shiftKey) toggleSelected(point);
                  else look(point);
                }}
              >
                <td>{point}</td>
                {columns.map(({ values }, at) => (
                  <td key={at} class="text clip">
                    {values[point]}
                  </td>
                ))}
                {axes.map((axis) => (
                  <td key={`axis ${axis}`}>{formatValue(found!.values[point * found!.perPoint + axis] ?? NaN)}</td>
                ))}
              </tr>
            ))}
            <tr style={{ height: `${(shown.length - end) * ROW}px` }} aria-hidden="true" />
          </tbody>
        </table>
      </div>
    </div>
  );
}
