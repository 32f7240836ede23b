/** The table of all runs. Beyond two hundred only the rows in view are in the page. */
import { useRef } from "preact/hooks";
import { go } from "../route";
import { ColumnHead } from "./ColumnHead";
import { useClock } from "./clock";
import { FIXED, shownFixed, shownMetrics, type FixedColumn } from "./columns";
import { AFTER, BEFORE, RunRow, styleOf } from "./RunRow";
import { cursor, cursorRow, rows } from "./runtable";
import { metricColumn } from "./sorting";
import * as runs from "./store";
import { useRowsInView } from "./useRowsInView";
import { useScrollMemory } from "./useScrollMemory";
import { useTableKeys } from "./useTableKeys";

const [ROW_HEIGHT, HEAD_HEIGHT] = [48, 28];

const takeFocus = (id: string): void => {
  cursor.value = id;
};

export function RunsTable() {
  useClock();
  const box = useRef<HTMLDivElement>(null);
  const all = rows.value;
  const { first, end, reveal } = useRowsInView(box, all.length, ROW_HEIGHT, HEAD_HEIGHT);
  const [fixed, metrics] = [shownFixed.value, shownMetrics.value];
  useScrollMemory(box, "runs");
  const moveTo = (row: number): void => {
    const run = all[Math.max(0, Math.min(row, all.length - 1))];
    if (run === undefined) return;
    cursor.value = run.id;
    reveal(all.indexOf(run));
    const focus = (): void => document.getElementById(`run-${run.id}`)?.focus({ preventScroll: true });
    focus();
    // The row may only come with the scrolling.
    requestAnimationFrame(focus);
  };
  useTableKeys({
    // The first key shows where one is.
    move: (by) => moveTo(cursor.peek() === null ? 0 : cursorRow.peek() + by),
    first: () => moveTo(0),
    last: () => moveTo(all.length - 1),
    compare: () => {
      const run = all[cursorRow.peek()];
      if (run !== undefined) runs.choose(run.id, !runs.isChosen(run.id));
    },
    open: () => {
      const run = all[cursorRow.peek()];
      if (run !== undefined) go("training", { runs: run.id });
    },
  });
  const fixedHead = (id: FixedColumn) => {
    const title = FIXED.find((one) => one.id === id)!.title;
    return fixed.has(id) && <ColumnHead key={id} column={id} title={title} style={styleOf(id)} />;
  };
  return (
    <div class="panel-body" ref={box}>
      <table class="table tall runs-table" role="grid" aria-label="Runs" aria-rowcount={all.length + 1}>
        <thead>
          <tr>
            <ColumnHead column="name" title="Name" style="" />
            {BEFORE.map(fixedHead)}
            {metrics.map((name) => (
              <ColumnHead key={name} column={metricColumn(name)} title={name} style="num" />
            ))}
            {AFTER.map(fixedHead)}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} />
          {all.slice(first, end).map((run, at) => (
            <RunRow
              key={run.id}
              run={run}
              at={first + at}
              fixed={fixed}
              metrics={metrics}
              isCursor={first + at === cursorRow.value}
              onFocus={takeFocus}
            />
          ))}
          <Gap rows={all.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** In the place of rows that are not in view. */
function Gap({ rows: count }: { rows: number }) {
  return count > 0 ? (
    <tr class="gap" aria-hidden="true" style={{ height: `${count * ROW_HEIGHT}px` }} />
  ) : null;
}
