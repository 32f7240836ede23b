/** What of the watched layers is shown: figure, rows, colours, run, rank. */
import { setParams } from "../../data/route";
import * as runs from "../../data/runs";
import { FilterField } from "../../ui/FilterField";
import { Select } from "../../ui/Select";
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
  const columns = state.grid.value?.columns ?? FIRST_COLUMNS;
  const chosen = state.column.value;
  return (
    <label class="field-label">
      Figure
      <Select
        label="Figure"
        title={figureOf(chosen).hint}
        value={chosen}
        options={[...new Set([...columns, chosen])].map((id) => [id, figureOf(id).title])}
        set={(fig) => setParams({ fig, limits: null })}
      />
    </label>
  );
}

/** Where several processes trained together. */
function RankSelect() {
  const ranks = state.grid.value?.ranks ?? [];
  const chosen = state.rank.value;
  if (ranks.length <= 1 && chosen === (ranks[0] ?? 0)) return null;
  return (
    <label class="field-label">
      Rank
      <Select
        label="Rank"
        value={String(chosen)}
        options={[...new Set([...ranks, chosen])].map((rank) => [String(rank), String(rank)])}
        set={(rank) => setParams({ rank: rank === "0" ? null : rank })}
      />
    </label>
  );
}

function RunSelect() {
  const now = state.runId.value;
  return (
    <label class="run-select">
      <i class="sw" style={{ background: runs.colourOf(now) }} />
      <Select
        label="Run"
        value={now}
        options={state.watchedRuns.value.map(({ id, name }) => [id, name])}
        set={(run) => setParams({ run, from: null, to: null, step: null })}
      />
    </label>
  );
}
