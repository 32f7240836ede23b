/** What of the watched layers is shown: figure, rows, run, rank, and the colours with their limits in numbers. */
import { setParams } from "../../data/route";
import { LimitFields } from "../../plot/ColourScale";
import { FilterField } from "../../ui/FilterField";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Picker";
import { RunSelect, Select } from "../../ui/Select";
import type { Scale } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import type { LogChoice } from "./scales";
import * as state from "./state";
import { figureOf, formatFigure } from "./watched";

const FIRST_COLUMNS = ["mean", "std", "min", "max", "norm", "zeros", "nan", "inf"];

export function LayersToolbar() {
  const [column, rank] = [state.column.value, state.rank.value];
  const { columns = FIRST_COLUMNS, ranks = [] } = state.grid.value ?? {};
  return (
    <div class="toolbar layers-toolbar" role="toolbar" aria-label="Watched layers">
      <label class="field-label">
        Figure
        <Select
          label="Figure"
          title={figureOf(column).hint}
          value={column}
          options={[...new Set([...columns, column])].map((id) => [id, figureOf(id).title])}
          set={(fig) => setParams({ fig, limits: null })}
        />
      </label>
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
      <Limits />
      <span class="grow" />
      <div class="layers-filter">
        <FilterField
          label="Filter rows"
          placeholder="Filter rows"
          value={state.filter.value}
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
      {/* Where several processes trained together. */}
      {(ranks.length > 1 || rank !== (ranks[0] ?? 0)) && (
        <label class="field-label">
          Rank
          <Select
            label="Rank"
            value={String(rank)}
            options={[...new Set([...ranks, rank])].map((one) => [String(one), String(one)])}
            set={(one) => setParams({ rank: one === "0" ? null : one })}
          />
        </label>
      )}
      <RunSelect
        value={state.runId.value}
        runs={state.watchedRuns.value}
        set={(run) => setParams({ run, from: null, to: null, step: null })}
      />
    </div>
  );
}

/** The colours of the map with their limits in numbers, which can be fixed. */
export function Ramp({ scale }: { scale: Scale }) {
  const figure = state.shownFigure.value;
  return (
    <span class="heat-ramp">
      {formatFigure(figure, scale.low, { digits: 3 })}
      <span class={`ramp smooth ${scale.map}`} />
      <span class="ramp-end">{formatFigure(figure, scale.high, { digits: 3 })}</span>
      <span class="muted is-log">{scale.isLog === true ? "log" : ""}</span>
    </span>
  );
}

const SIGNS = [
  ["nan", "has NaN"],
  ["inf", "has Inf"],
  ["none", "not recorded"],
] as const;

function Limits() {
  const scale = state.sharedScale.value;
  const { limits, log } = state.wish.value;
  return (
    <Popover
      label="Colours of the map"
      button={
        <span class="heat-key" title="Set limits">
          {scale !== null && <Ramp scale={scale} />}
          <span class={scale === null ? "" : "sr"}>Limits</span>
          {limits !== null && <b>fixed</b>}
          <Icon name="down" />
        </span>
      }
    >
      <div class="stack heat-limits">
        <LimitFields
          ends={limits ?? [scale?.low ?? 0, scale?.high ?? 1]}
          isAuto={limits === null}
          complaint={(low, high) => (low < high ? "" : "The low limit must be below the high one.")}
          onSet={(ends) => setParams({ limits: ends === null ? null : ends.join(",") })}
        />
        <Segments<LogChoice>
          label="Scale"
          isWide
          words={[
            ["auto", "Auto", "Logarithmic where sizes span decades"],
            ["linear", "Linear"],
            ["log", "Log", "Where all values are positive"],
          ]}
          chosen={log}
          choose={(word) => setParams({ log: word === "auto" ? null : word === "log" ? "yes" : "no" })}
        />
        <div class="legend">
          {SIGNS.map(([look, text]) => (
            <span key={look}>
              <i class={`heat-sign ${look}`} />
              {text}
            </span>
          ))}
        </div>
      </div>
    </Popover>
  );
}
