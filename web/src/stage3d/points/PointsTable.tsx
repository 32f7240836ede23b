/** The points as a table: what the drawing shows, for those who would rather read it. */
import { useRef, useState } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { actOn } from "../../ui/keys";
import { useRowsInView } from "../../ui/scroll";
import { downloadPoints, look, toggleSelected } from "./selection";
import * as store from "./store";

const [ROW, HEAD] = [24, 28];

export function PointsTable() {
  const here = store.loaded.value;
  const shown = store.shown.value;
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const { first, end, reveal } = useRowsInView(box, shown.length, ROW, HEAD);
  if (here === null) return null;
  const { columns } = here.embedding;
  const found = store.coordinates.value;
  const axes = found?.record === here.record ? store.axes.value : [];
  const chosen = new Set(store.selected.value);
  const by = (rows: number) => (): void => {
    const next = Math.max(0, Math.min(shown.length - 1, active + rows));
    setActive(next);
    reveal(next);
  };
  const withPoint = (act: (point: number) => void) => (): void => {
    if (active < shown.length) act(shown[active]!);
  };
  const onKeyDown = (event: KeyboardEvent): boolean =>
    actOn(event, {
      ArrowDown: by(1),
      ArrowUp: by(-1),
      PageDown: by(20),
      PageUp: by(-20),
      Home: by(-Infinity),
      End: by(Infinity),
      Enter: withPoint(look),
      " ": withPoint(toggleSelected),
    });
  return (
    <div class="points-table-box">
      <div class="panel-head">
        <h2>{formatCount(shown.length)} points</h2>
        <span class="grow" />
        <button class="btn sm" onClick={() => downloadPoints([...shown])}>
          CSV
        </button>
      </div>
      <div ref={box} class="panel-body">
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
