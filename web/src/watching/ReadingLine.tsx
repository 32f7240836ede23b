/** One line above the map: what is under the pointer or, where it is elsewhere, what the map shows. */
import { formatCount, formatNumberOf } from "../format";
import { readingOf } from "./readings";
import * as state from "./state";
import { bucketAt } from "./steps";

export function ReadingLine() {
  const grid = state.grid.value;
  const at = state.pointed.value;
  const line = at?.row === null || at === null ? undefined : state.lines.value.byName.get(at.row);
  const bucket = at === null ? -1 : bucketAt(state.spans.value, at.step);
  const reading = grid === null || line === undefined ? null : readingOf(grid, line.index, bucket);
  return (
    <div class="heat-reading">
      {reading === null ? (
        <span class="muted">{about()}</span>
      ) : (
        <span data-testid="heat-reading" class="clip">
          <b class="mono">{reading.name}</b> <span class="muted">{reading.steps}</span>{" "}
          <span class={reading.isBad ? "bad" : ""}>{reading.value}</span>
        </span>
      )}
      <span class="grow" />
      {state.zoom.value !== null && (
        <button class="btn sm" onClick={() => state.setZoom(null)}>
          Show all steps
        </button>
      )}
    </div>
  );
}

function about(): string {
  const grid = state.grid.value;
  if (grid === null) return "";
  const { rows, numSteps, every } = grid;
  const shown = state.lines.value.rows.length;
  const parts = [
    shown === rows.length ? formatNumberOf(shown, "row") : `${formatCount(shown)} of ${formatNumberOf(rows.length, "row")}`,
    `${formatNumberOf(numSteps, "watched step")}${every === "" ? "" : `, ${everyText(every)}`}`,
  ];
  if (state.numLeftOut.value > 0)
    parts.push(`${formatCount(state.numLeftOut.value)} have no ${state.shownFigure.value.title}`);
  if (state.failure.value !== "") parts.push(state.failure.value);
  return parts.join(" \u00b7 ");
}

/** `20/s` → `20 a second`; all else as it was given. */
function everyText(every: string): string {
  const rate = /^([\d.]+)\/s$/.exec(every)?.[1];
  if (rate !== undefined) return `${rate} a second`;
  return /^\d+$/.test(every) ? (every === "1" ? "every step" : `every ${every} steps`) : every;
}
