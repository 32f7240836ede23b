/** Over the table of runs: the filter, the states, the columns. */
import { formatCount } from "../format";
import type { RunState } from "../wire";
import { ColumnChooser } from "./ColumnChooser";
import { FilterField } from "./FilterField";
import {
  filter,
  filterText,
  numFiltered,
  setFilter,
  showState,
  STATES,
  stateCounts,
  stateShown,
} from "./runtable";
import * as runs from "./store";

export function RunsToolbar() {
  const counts = stateCounts.value;
  // Runs of which nothing is known are rare: no place is kept for them.
  const states = STATES.filter(([state]) => state !== "unknown" || hasUnknown());
  return (
    <div class="toolbar">
      <h1 id="runs-title">Runs</h1>
      <div class="runs-filter">
        <FilterField
          label="Filter runs"
          placeholder="Filter by name, tag or metric > value"
          value={filterText.value}
          problem={filter.value.problem}
          onChange={setFilter}
        />
      </div>
      <div class="seg" role="radiogroup" aria-label="State">
        <StateButton state={null} title="All" count={numFiltered.value} />
        {states.map(([state, title]) => (
          <StateButton key={state} state={state} title={title} count={counts.get(state) ?? 0} />
        ))}
      </div>
      <span class="grow" />
      <ColumnChooser />
    </div>
  );
}

function hasUnknown(): boolean {
  return stateShown.value === "unknown" || runs.runs.value.some((run) => run.state === "unknown");
}

function StateButton({ state, title, count }: { state: RunState | null; title: string; count: number }) {
  return (
    <button role="radio" aria-checked={stateShown.value === state} onClick={() => showState(state)}>
      {title} <span class="count">{formatCount(count)}</span>
    </button>
  );
}
