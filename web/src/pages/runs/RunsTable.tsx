/** The table of all runs, with its keys. */
import { useRef } from "preact/hooks";
import { go } from "../../data/route";
import * as runs from "../../data/runs";
import { rowKeys, Table } from "../../ui/Table";
import { usePageKeys } from "../../ui/keys";
import { useRowsInView, useScrollMemory } from "../../ui/scroll";
import type { RunListing } from "../../wire";
import { columnsWith, type RunColumn } from "./columns";
import { cursor, cursorRow, order, pressHead, rows, shownFixed, shownMetrics } from "./run-table";

const [ROW_HEIGHT, HEAD_HEIGHT] = [48, 28];

export function RunsTable() {
  const box = useRef<HTMLDivElement>(null);
  const all = rows.value;
  const view = useRowsInView(box, all.length, ROW_HEIGHT, HEAD_HEIGHT);
  const columns = columnsWith(shownFixed.value, shownMetrics.value);
  useScrollMemory(box, "runs");
  const moveTo = (row: number): void => {
    const run = all[row];
    if (run === undefined) return;
    cursor.value = run.id;
    view.reveal(row);
    const focus = (): void => document.getElementById(`run-${run.id}`)?.focus({ preventScroll: true });
    focus();
    // The row may only come with the scrolling.
    requestAnimationFrame(focus);
  };
  usePageKeys((event) => {
    const here = (act: (run: RunListing) => void) => () => {
      const run = all[cursorRow.peek()];
      if (run !== undefined) act(run);
    };
    const keys: Readonly<Record<string, () => void>> = {
      ...rowKeys(cursor.peek() === null ? -1 : cursorRow.peek(), all.length, moveTo),
      x: here((run) => runs.choose(run.id, !runs.isChosen(run.id))),
      Enter: here((run) => go("training", { runs: run.id })),
    };
    const act = isForTable(event) ? keys[event.key] : undefined;
    act?.();
    return act !== undefined;
  });
  return (
    <div class="panel-body" ref={box}>
      <Table
        class="table tall runs-table"
        role="grid"
        aria-label="Runs"
        aria-rowcount={all.length + 1}
        columns={columns}
        order={order.value}
        sort={pressHead}
        rows={all}
        inView={{ ...view, rowHeight: ROW_HEIGHT }}
        renderRow={(run, at) => (
          <RunRow key={run.id} run={run} at={at} columns={columns} isCursor={at === cursorRow.value} />
        )}
      />
    </div>
  );
}

/** Wherever on its page the focus is, but for fields; what is pressed with Enter keeps its Enter. */
function isForTable({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog, .popover, [role=listbox], [role=separator]") !== null) return false;
  return key !== "Enter" || target.closest("a, button, input") === null;
}

interface RowProps {
  run: RunListing;
  /** Its place in the table, from 0. */
  at: number;
  columns: readonly RunColumn[];
  isCursor: boolean;
}

function RunRow({ run, at, columns, isCursor }: RowProps) {
  return (
    <tr
      id={`run-${run.id}`}
      aria-rowindex={at + 2}
      aria-selected={isCursor}
      tabIndex={isCursor ? 0 : -1}
      onFocus={() => (cursor.value = run.id)}
    >
      {columns.map(({ key, style, cell, hint, isBad }) => (
        <td key={key} class={isBad?.(run) === true ? `${style} bad` : style} title={hint?.(run)}>
          {cell(run)}
        </td>
      ))}
    </tr>
  );
}
