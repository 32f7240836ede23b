/** What of the watched layers is shown: figure, rows, colours, run, rank. */
import { setParams } from "../../data/route";
import * as runs from "../../data/runs";
import { FilterField } from "../../ui/FilterField";
import { Segments } from "../../ui/controls";
import { HeatKey } from "./HeatKey";
import { figureOf } from "./rows";
import * as state from "./state";

const FIRST_COLUMNS = ["mean", "std", "min", "max", "norm", "zeros", "nan", "inf"];

export function LayersToolbar() {
  return (
    <div class="toolbar layers-toolbar" role="toolbar" aria-label="Watched layers">
      <FigureSelect />
      <span class="field-label">Colours</span>
      <Segments<state.Sharing>
        label="Colours are shared by"
        words={[
          ["all", "All", "One colour is one value in all rows"],
          ["group", "Group", "Each group has colours of its own"],
          ["row", "Row", "Each row has colours of its own"],
        ]}
        chosen={state.sharing.value}
        choose={(word) => setParams({ scale: word === "group" ? null : word })}
      />
      <HeatKey />
      <span class="grow" />
      <div class="layers-filter">
        <FilterField
          label="Filter rows"
          placeholder="Filter rows"
          value={state.filter.value}
          problem=""
          onChange={(text) => setParams({ find: text === "" ? null : text })}
          onLeave={() => document.querySelector<HTMLElement>(".heat-stage")?.focus()}
        />
      </div>
      <Segments
        label="Height of rows"
        words={[
          ["tall", "Names", "Each row with its name"],
          ["thin", "Thin", "As many rows as possible"],
        ]}
        chosen={state.isThin.value ? "thin" : "tall"}
        choose={(word) => setParams({ rows: word === "thin" ? "thin" : null })}
      />
      <RankSelect />
      <RunSelect />
    </div>
  );
}

function FigureSelect() {
  const columns = state.grid.value?.columns ?? [...FIRST_COLUMNS, state.column.value];
  const chosen = state.column.value;
  const ids = columns.includes(chosen) ? columns : [...columns, chosen];
  return (
    <label class="field-label">
      Figure
      <select
        class="input"
        aria-label="Figure"
        title={figureOf(chosen).hint}
        value={chosen}
        onChange={(event) => setParams({ fig: event.currentTarget.value, limits: null })}
      >
        {[...new Set(ids)].map((id) => (
          <option key={id} value={id}>
            {figureOf(id).title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Where several processes trained together. */
function RankSelect() {
  const ranks = state.grid.value?.ranks ?? [];
  const chosen = state.rank.value;
  if (ranks.length <= 1 && chosen === (ranks[0] ?? 0)) return null;
  const all = ranks.includes(chosen) ? ranks : [...ranks, chosen];
  return (
    <label class="field-label">
      Rank
      <select
        class="input"
        aria-label="Rank"
        value={String(chosen)}
        onChange={(event) => setParams({ rank: event.currentTarget.value === "0" ? null : event.currentTarget.value })}
      >
        {all.map((rank) => (
          <option key={rank} value={String(rank)}>
            {rank}
          </option>
        ))}
      </select>
    </label>
  );
}

function RunSelect() {
  const list = state.watchedRuns.value;
  const now = state.runId.value;
  return (
    <label class="run-select">
      <i class="sw" style={{ background: runs.colourOf(now) }} />
      <select
        class="input"
        aria-label="Run"
        value={now}
        onChange={(event) => setParams({ run: event.currentTarget.value, from: null, to: null, step: null })}
      >
        {list.map((run) => (
          <option key={run.id} value={run.id}>
            {run.name}
          </option>
        ))}
      </select>
    </label>
  );
}
