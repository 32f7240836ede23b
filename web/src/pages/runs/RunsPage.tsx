/** The start page: all runs of the folder, those to compare, and the passes beside them. */
import type { ComponentChildren, ComponentType } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../data/format";
import { addressOf } from "../../data/route";
import * as runs from "../../data/runs";
import { Blank, Failed, NoRuns, Snippet } from "../../ui/Blank";
import { FilterField } from "../../ui/FilterField";
import { HidePanel, PanelPlace } from "../../ui/PanelPlace";
import { ColumnBoxes, ColumnChooser } from "../../ui/Table";
import { Segments } from "../../ui/controls";
import { panels, panelWidth } from "../../ui/panels";
import { CompareChart } from "./CompareChart";
import { PassesPart } from "./PassesPart";
import { RunsTable } from "./RunsTable";
import { FIXED, METRIC } from "./columns";
import * as table from "./run-table";

interface Props {
  ControlsPart: ComponentType;
  FeatureSetsPart: ComponentType;
}

export function RunsPage({ ControlsPart, FeatureSetsPart }: Props) {
  return (
    <main class={`main runs-page ${panels.value.width}`} style={{ "--right": `${panelWidth.value.right}px` }}>
      <section class="panel runs-panel" aria-labelledby="runs-title">
        <RunsToolbar />
        <RunsBody />
        <FeatureSetsPart />
        <Foot />
      </section>
      <PanelPlace side="right">
        <ComparePanel ControlsPart={ControlsPart} />
      </PanelPlace>
    </main>
  );
}

function Foot() {
  const [all, shown] = [runs.runs.value.length, table.rows.value.length];
  return (
    <footer class="foot">
      <span class="clip" role="status">
        {shown < all && `${formatCount(shown)} of `}
        {runs.listing.value.state !== "waiting" && formatNumberOf(all, "run")}
        {runs.folder.value !== "" && (
          <>
            {" in "}
            <span class="mono">{runs.folder.value}</span>
          </>
        )}
        {table.numFiltered.value < all && `, ${formatCount(all - table.numFiltered.value)} filtered out`}
      </span>
      {runs.folderNote.value !== "" && (
        <span class="noted clip" title={runs.folderNote.value}>
          {runs.folderNote.value}
        </span>
      )}
      <span class="grow" />
      {shown > 0 && (
        <span class="foot-keys" aria-hidden="true">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> move
          </span>
          <span>
            <kbd>x</kbd> compare
          </span>
          <span>
            <kbd>↵</kbd> open
          </span>
        </span>
      )}
    </footer>
  );
}

/** Beside the runs: the loss of those that are chosen, trainings to control, passes, and how to start a run. */
function ComparePanel({ ControlsPart }: Pick<Props, "ControlsPart">) {
  const count = runs.chosen.value.length;
  // Without any, the table's place says how to start one.
  const hasRuns = runs.runs.value.length > 0;
  return (
    <aside class="panel compare" aria-label="Compare">
      <div class="toolbar">
        <h2>Compare</h2>
        <span class="muted fs-2">{formatNumberOf(count, "run")}</span>
        <span class="grow" />
        {count > 0 && (
          <a class="btn" href={addressOf("training", { runs: runs.chosenIds.value })}>
            Open in Training
          </a>
        )}
        <HidePanel side="right" label="Hide compare" />
      </div>
      <div class="panel-body">
        {hasRuns && <CompareChart />}
        <ControlsPart />
        <PassesPart />
      </div>
      {hasRuns && (
        <div class="compare-foot">
          <Snippet />
        </div>
      )}
    </aside>
  );
}

/** Over the table of runs: the filter, the states, the columns. */
function RunsToolbar() {
  const counts = table.stateCounts.value;
  // Runs of which nothing is known are rare: no place is kept for them.
  const hasUnknown = table.stateShown.value === "unknown" || runs.runs.value.some((run) => run.state === "unknown");
  const states = table.STATES.filter(([state]) => state !== "unknown" || hasUnknown).map(
    ([state, title]) => [state, counted(title, counts.get(state) ?? 0)] as const,
  );
  return (
    <div class="toolbar">
      <h1 id="runs-title">Runs</h1>
      <div class="runs-filter">
        <FilterField
          label="Filter runs"
          placeholder="Filter by name, tag or metric > value"
          value={table.filterText.value}
          problem={table.filter.value.problem}
          onChange={table.setFilter}
          onLeave={() => document.querySelector<HTMLElement>(".runs-table tr[aria-rowindex='2']")?.focus()}
        />
      </div>
      <Segments
        label="State"
        words={[["all", counted("All", table.numFiltered.value)], ...states]}
        chosen={table.stateShown.value ?? "all"}
        choose={(state) => table.showState(state === "all" ? null : state)}
      />
      <span class="grow" />
      <Chooser />
    </div>
  );
}

function counted(title: string, count: number): ComponentChildren {
  return (
    <>
      {title} <span class="count">{formatCount(count)}</span>
    </>
  );
}

/** Beyond these a name has to be typed. */
const MANY = 12;
const MOST = 60;

/** Which columns the table of runs has. */
function Chooser() {
  return (
    <ColumnChooser label="Columns" reset={table.chosenColumns.reset}>
      <h3>Columns</h3>
      <ColumnBoxes
        columns={FIXED.map(({ key, title }) => ({ key, title, isShown: table.shownFixed.value.has(key) }))}
        show={table.chosenColumns.show}
      />
      <Metrics />
    </ColumnChooser>
  );
}

function Metrics() {
  const [text, setText] = useState("");
  const names = table.metricNames.value;
  const found = names.filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <h3>Metrics</h3>
      {names.length === 0 && <span class="muted fs-2">No run has logged any number yet.</span>}
      {names.length > MANY && (
        <input
          class="input sm wide"
          placeholder="Find a metric"
          aria-label="Find a metric"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <ColumnBoxes
        columns={found.slice(0, MOST).map((name) => ({ key: METRIC + name, title: name, isShown: table.shownMetrics.value.includes(name) }))}
        show={table.chosenColumns.show}
      />
      {found.length > MOST && (
        <span class="muted fs-1">and {found.length - MOST} more: type a part of a name</span>
      )}
    </>
  );
}

/** The table of runs, or what stands there while there is none. */
function RunsBody() {
  const listing = runs.listing.value;
  if (runs.runs.value.length === 0) {
    return listing.state === "waiting" ? <Waiting /> : <div class="panel-body">{whyNone(listing)}</div>;
  }
  return (
    <>
      {listing.state === "failed" && <Trouble reason={listing.reason} />}
      {table.rows.value.length === 0 ? <NoMatch /> : <RunsTable />}
    </>
  );
}

function whyNone(listing: typeof runs.listing.value) {
  if (listing.state === "failed") {
    return <Failed title="The folder cannot be read" reason={listing.reason} retry={runs.retry} />;
  }
  if (runs.folderNote.value === "") return <NoRuns />;
  return (
    <Blank icon="warning" title="No run can be read here" isError>
      <span>{runs.folderNote.value}</span>
      <span>Runs that are started in this folder show up by themselves.</span>
    </Blank>
  );
}

/** Over what was known: it stays. */
function Trouble({ reason }: { reason: string }) {
  return (
    <div class="strip" role="alert">
      <span class="clip">The folder cannot be read any more: {reason}</span>
      <button class="btn sm" onClick={runs.retry}>
        Try again
      </button>
    </div>
  );
}

function NoMatch() {
  return (
    <div class="panel-body">
      <Blank icon="search" title="No run matches">
        <span>The filter leaves none of the runs.</span>
        <button
          class="btn"
          onClick={() => {
            table.setFilter("");
            table.showState(null);
          }}
        >
          Show all runs
        </button>
      </Blank>
    </div>
  );
}

function Waiting() {
  return (
    <div class="panel-body run-skeletons late" aria-busy="true" aria-label="Reading the runs">
      {[128, 100, 144, 88, 116, 96].map((width) => (
        <div key={width} aria-hidden="true">
          <i class="skeleton" style={{ width: "14px", height: "14px" }} />
          <i class="skeleton" style={{ width: `${width}px` }} />
          <span class="grow" />
          <i class="skeleton" style={{ width: "96px" }} />
          <i class="skeleton" style={{ width: "40px" }} />
        </div>
      ))}
    </div>
  );
}
