/** The watched layers of one run: a map of rows over steps, alarms and gaps on the same axis, and one row in full. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { param } from "../route";
import { RunsFrame } from "../runs/RunsFrame";
import * as runs from "../runs/store";
import { Blank } from "../shell/Blank";
import * as page from "../store";
import { EventLines } from "./EventLines";
import { EventList } from "./EventList";
import { followLayers } from "./feeds";
import { HeatMap } from "./HeatMap";
import { LayersToolbar } from "./LayersToolbar";
import { ReadingLine } from "./ReadingLine";
import { RowPanel } from "./RowPanel";
import * as state from "./state";
import "./alarms.css";
import "./watching.css";

export function LayersPage() {
  const source = page.source.value;
  useEffect(() => (source === null ? undefined : followLayers(source)), [source]);
  // As it goes, not after the next paint: by then the next map may be there, and pointed at.
  useLayoutEffect(() => () => (state.pointed.value = null), []);
  return <RunsFrame>{state.run.value === null ? <NoneYet /> : <Layers />}</RunsFrame>;
}

function Layers() {
  const { alarms, gaps } = state.events.value;
  const hasEvents = alarms.length + gaps.length > 0;
  const hasRow = state.rowName.value !== "";
  return (
    <div class="layers">
      <h1 class="sr">Layers</h1>
      <LayersToolbar />
      {hasEvents && <EventLines />}
      <ReadingLine />
      <HeatMap />
      {(hasRow || hasEvents) && (
        <div class={hasRow && hasEvents ? "layers-below both" : "layers-below"}>
          {hasRow && <RowPanel key={`${state.runId.value} ${state.rank.value} ${state.rowName.value}`} />}
          {hasEvents && <EventList />}
        </div>
      )}
      <div class="sr" role="status" aria-label="At the cursor">
        {state.spoken}
      </div>
    </div>
  );
}

function NoneYet() {
  if (!runs.isIndexed.value)
    return (
      <div class="section late" aria-busy="true" aria-label="Loading the watched layers">
        <i class="skeleton" style={{ width: "120px" }} />
        <i class="skeleton block low" />
        <i class="skeleton block" />
      </div>
    );
  const name = runs.chosen.value[0]?.name ?? "first";
  const isOther = param("run") !== "" && !runs.chosen.value.some(({ id }) => id === param("run"));
  return (
    <Blank icon="frame" title={isOther ? "The run of this address is not chosen" : "Nothing is watched in these runs"}>
      <span>One line watches the layers of a model while it trains; they show up here by themselves:</span>
      <pre>{`torcheer.watch(model, optimizer=optimizer, run="${folderOf()}${name}")`}</pre>
    </Blank>
  );
}

/** As somebody would type it, from beside the folder. */
function folderOf(): string {
  const last = runs.folder.value.split(/[/\\]/).filter(Boolean).at(-1);
  return last === undefined ? "runs/" : `${last}/`;
}
