/** The points as a table: what the drawing shows, for those who would rather read it. */
import { useState } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { PanelHead } from "../../ui/PanelHead";
import { type Column, RowTable } from "../../ui/RowTable";
import { downloadPoints, look, toggleSelected } from "./selection";
import * as store from "./store";

export function PointsTable() {
  const here = store.loaded.value;
  const shown = store.shown.value;
  const [active, setActive] = useState(0);
  if (here === null) return null;
  const found = store.coordinates.value;
  const axes = found?.record === here.record ? store.axes.value : [];
  const chosen = new Set(store.selected.value);
  const withPoint = (act: (point: number) => void) => (): void => {
    if (active < shown.length) act(shown[active]!);
  };
  const columns: Column<number>[] = [
    { title: "index", text: (point) => point },
    ...store.columns.value.map(({ name, values }) => ({ title: name, look: "text clip", text: (point: number) => values[point] })),
    ...axes.map((axis) => ({
      title: found?.method === "pca" ? `PC ${axis + 1}` : `axis ${axis + 1}`,
      text: (point: number) => formatValue(found!.values[point * found!.perPoint + axis] ?? NaN),
    })),
  ];
  return (
    <div class="points-table-box">
      <PanelHead title={`${formatCount(shown.length)} points`}>
        <button class="btn sm" onClick={() => downloadPoints([...shown])}>
          CSV
        </button>
      </PanelHead>
      <RowTable
        label="Points"
        look="points-table"
        role="grid"
        rows={shown}
        rowHeight={24}
        headHeight={28}
        columns={columns}
        rowProps={(point, row) => ({
          "aria-selected": chosen.has(point) || store.focus.value === point,
          class: row === active ? "active" : "",
          onClick: (event) => {
            setActive(row);
            if (event.shiftKey) toggleSelected(point);
            else look(point);
          },
        })}
        active={active}
        goTo={setActive}
        keys={{ Enter: withPoint(look), " ": withPoint(toggleSelected) }}
      />
    </div>
  );
}
