/** The runs of the folder with a box to choose each, over the options of a view. */
import { useRef } from "preact/hooks";
import { formatCount } from "../format";
import { param, setParams } from "../route";
import { Icon } from "../shell/Icon";
import { panels, setPanel } from "../shell/panels";
import { FilterField } from "./FilterField";
import { parseFilter } from "./filtering";
import { RunListRow } from "./RunListRow";
import * as runs from "./store";
import { useRowsInView } from "./useRowsInView";

const ROW_HEIGHT = 28;

export function RunList() {
  const all = runs.runs.value;
  const filter = parseFilter(param("rf"));
  const shown = all.filter((run) => filter.matches(run));
  const box = useRef<HTMLDivElement>(null);
  const { first, end } = useRowsInView(box, shown.length, ROW_HEIGHT);
  return (
    <div class="run-list">
      <div class="panel-head">
        <h2>Runs</h2>
        <span class="muted fs-2 clip">{saidChosen(runs.chosen.value.length, all.length)}</span>
        <span class="grow" />
        {panels.value.width !== "wide" && (
          <button class="btn quiet square" aria-label="Hide runs" onClick={() => setPanel("left", false)}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="pad-s">
        <FilterField
          label="Filter runs"
          placeholder="Filter runs"
          value={param("rf")}
          problem={filter.problem}
          onChange={(text) => setParams({ rf: text === "" ? null : text })}
          onLeave={() => box.current?.querySelector("input")?.focus()}
        />
      </div>
      <div class="run-rows" ref={box}>
        {all.length === 0 && runs.listing.value.state === "waiting" && <Skeleton />}
        <ul
          aria-label="Runs"
          style={{ height: `${shown.length * ROW_HEIGHT}px`, paddingTop: `${first * ROW_HEIGHT}px` }}
          onKeyDown={moveFocus}
        >
          {shown.slice(first, end).map((run) => (
            <RunListRow key={run.id} run={run} />
          ))}
        </ul>
      </div>
      {all.length > 0 && (
        <div class="run-list-foot">
          <button class="link fs-1" onClick={() => runs.chooseAll(shown.map((run) => run.id))}>
            {filter.problem === "" && shown.length < all.length ? "All that match" : "All"}
          </button>
          <button class="link fs-1" onClick={() => runs.chooseAll([])}>
            None
          </button>
          <span class="grow" />
          {shown.length < all.length && (
            <span class="muted fs-1">{formatCount(all.length - shown.length)} filtered out</span>
          )}
        </div>
      )}
    </div>
  );
}

function saidChosen(numChosen: number, numAll: number): string {
  if (numAll === 0) return "";
  const most = numChosen === runs.MAX_CHOSEN ? ", the most there can be" : "";
  return `${formatCount(numChosen)} of ${formatCount(numAll)} shown${most}`;
}

/** From one box to the next with the arrow keys. */
function moveFocus(event: KeyboardEvent): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by === 0 || !(event.currentTarget instanceof HTMLElement)) return;
  const boxes = [...event.currentTarget.querySelectorAll("input")];
  const next = boxes[boxes.findIndex((one) => one === document.activeElement) + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

function Skeleton() {
  return (
    <div class="skeletons late" aria-hidden="true">
      {[120, 96, 140, 104].map((width) => (
        <i key={width} class="skeleton" style={{ width: `${width}px` }} />
      ))}
    </div>
  );
}
