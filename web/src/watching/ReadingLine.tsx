/** One line above the map: what is under the pointer or, where it is elsewhere, what the map shows. */
import { formatCount, formatNumberOf } from "../format";
import { gotText, wantedText } from "./everywords";
import { readingOf } from "./readings";
import { UNSEEN } from "./rows";
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
        <>
          <span class="muted">{about()}</span>
          {state.unseenRows.value.size > 0 && <UnseenButton />}
        </>
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

/** Where there are many rows, those that were never seen stand far below. */
function UnseenButton() {
  const isShut = state.closed.value.has(UNSEEN);
  const press = (): void => {
    state.setClosed(UNSEEN, !isShut);
    const view = document.querySelector(".heat");
    if (isShut && view !== null) requestAnimationFrame(() => (view.scrollTop = view.scrollHeight));
  };
  return (
    <button class="link quiet fs-1" aria-label={`${isShut ? "Show" : "Fold"} the rows that were never seen`} onClick={press}>
      {isShut ? "show them" : "fold them"}
    </button>
  );
}

function about(): string {
  const grid = state.grid.value;
  if (grid === null) return "";
  const { rows, numSteps, every, got } = grid;
  const shown = state.lines.value.rows.length;
  const wanted = [wantedText(every), got === every ? "" : gotText(got)].filter((text) => text !== "").join(", ");
  const parts = [
    shown === rows.length ? formatNumberOf(shown, "row") : `${formatCount(shown)} of ${formatNumberOf(rows.length, "row")}`,
    `${formatNumberOf(numSteps, "step")} watched${wanted === "" ? "" : ` (${wanted})`}`,
  ];
  if (state.numLeftOut.value > 0)
    parts.push(`${formatCount(state.numLeftOut.value)} without this figure`);
  if (state.numUnaffordable.value > 0)
    parts.push(`${formatNumberOf(state.numUnaffordable.value, "record")} left out to keep the budget`);
  if (state.failure.value !== "") parts.push(state.failure.value);
  const { size } = state.unseenRows.value;
  if (size > 0) parts.push(`${formatCount(size)} never seen`);
  return parts.join(" \u00b7 ");
}
