/** Over the table of runs: the filter, the states, the columns. */
import type { ComponentChildren } from "preact";
import { formatCount } from "../format";
import { ColumnChooser } from "./ColumnChooser";
import { Segments } from "../shell/Segments";
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
          onLeave={() => document.querySelector<HTMLElement>(".runs-table tr[aria-rowindex='2']")?.focus()}
        />
      </div>
      <Segments
        label="State"
        words={[["all", counted("All", numFiltered.value)], ...states.map(([state, title]) => [state, counted(title, counts.get(state) ?? 0)] as const)]}
        chosen={stateShown.value ?? "all"}
        choose={(state) => showState(state === "all" ? null : state)}
      />
      <span class="grow" />
      <ColumnChooser />
    </div>
  );
}

function hasUnknown(): boolean {
  return stateShown.value === "unknown" || runs.runs.value.some((run) => run.state === "unknown");
}

function counted(title: string, count: number): ComponentChildren {
  return (
    <>
      {title} <span class="count">{formatCount(count)}</span>
    </>
  );
}
