/** The passes to choose from: those of one run under its name. Of many, those in view are in the page. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../format";
import { groupPasses } from "../runs/passgroups";
import { runsById } from "../runs/store";
import { useRowsInView } from "../runs/useRowsInView";
import type { PassListing } from "../source/source";
import * as store from "../store";

const ROW_HEIGHT = 28;

interface Props {
  passes: readonly PassListing[];
  onChoose: (pass: PassListing) => void;
  onClose: () => void;
}

/** A pass or, with `pass` null, the name of the run whose passes follow. */
interface Row {
  readonly pass: PassListing | null;
  readonly text: string;
  readonly detail: string;
}

export function PassList({ passes, onChoose, onClose }: Props) {
  const rows = rowsOf(passes);
  const current = rows.findIndex(({ pass }) => pass !== null && pass.id === store.passId.value);
  const [active, setActive] = useState(current < 0 ? next(rows, -1, 1) : current);
  const list = useRef<HTMLUListElement>(null);
  const { first, end, reveal } = useRowsInView(list, rows.length, ROW_HEIGHT);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  useEffect(() => reveal(active), [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, () => number> = {
      ArrowDown: () => next(rows, active, 1),
      ArrowUp: () => next(rows, active, -1),
      Home: () => next(rows, -1, 1),
      End: () => next(rows, rows.length, -1),
    };
    const chosen = rows[active]?.pass;
    if (steps[event.key] !== undefined) setActive(steps[event.key]!());
    else if (event.key === "Enter" || event.key === " ") {
      if (chosen != null) onChoose(chosen);
    } else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ul
      class="listbox"
      role="listbox"
      aria-label="Passes"
      tabIndex={-1}
      ref={list}
      aria-activedescendant={`pass-${active}`}
      onKeyDown={onKeyDown}
    >
      {first > 0 && <li aria-hidden="true" style={{ height: `${first * ROW_HEIGHT}px` }} />}
      {rows.slice(first, end).map((row, offset) => {
        const at = first + offset;
        const { pass } = row;
        if (pass === null) {
          return (
            <li key={at} class="heading" role="presentation">
              <span class="clip">{row.text}</span>
              <span class="muted">{row.detail}</span>
            </li>
          );
        }
        return (
          <li
            key={at}
            id={`pass-${at}`}
            role="option"
            aria-selected={pass.id === store.passId.value}
            class={at === active ? "active" : ""}
            // Not mouseenter: a list that opens under a resting mouse would take the choice from the keyboard.
            onMouseMove={(event) => hasMoved(event) && setActive(at)}
            onClick={() => onChoose(pass)}
          >
            <span class="clip">{row.text}</span>
            <span class="muted clip">{row.detail}</span>
          </li>
        );
      })}
      {end < rows.length && (
        <li aria-hidden="true" style={{ height: `${(rows.length - end) * ROW_HEIGHT}px` }} />
      )}
    </ul>
  );
}

function rowsOf(passes: readonly PassListing[]): Row[] {
  // Those that belong to no run first: after a heading they would seem to belong under it.
  const groups = groupPasses(passes, runsById.value);
  const inOrder = [
    ...groups.filter(({ runId }) => runId === ""),
    ...groups.filter(({ runId }) => runId !== ""),
  ];
  return inOrder.flatMap(({ runId, runName, passes: group }) => {
    const all = group.map((pass): Row => ({ pass, text: pass.name, detail: saidOf(pass) }));
    // The newest first, under the name of the run.
    return runId === ""
      ? all
      : [{ pass: null, text: runName, detail: countOf(group.length) }, ...all.reverse()];
  });
}

function saidOf(pass: PassListing): string {
  return pass.run_id !== "" && pass.step !== null ? `step ${formatCount(pass.step)}` : pass.detail;
}

function countOf(count: number): string {
  return count === 1 ? "" : formatCount(count);
}

/** The next pass from a row on, over headings; the same row where there is none. */
function next(rows: readonly Row[], from: number, by: number): number {
  for (let at = from + by; at >= 0 && at < rows.length; at += by) if (rows[at]!.pass !== null) return at;
  return Math.max(0, Math.min(from, rows.length - 1));
}

/** Whether the mouse itself moved: browsers send moves, too, when the page moved under it. */
function hasMoved(event: MouseEvent): boolean {
  return event.movementX !== 0 || event.movementY !== 0;
}
