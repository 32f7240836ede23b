/** The table of runs, or what stands there while there is none. */
import { Blank } from "../shell/Blank";
import { RunsTable } from "./RunsTable";
import { rows, setFilter, showState } from "./runtable";
import { Snippet } from "./Snippet";
import * as runs from "./store";

export function RunsBody() {
  const listing = runs.listing.value;
  if (runs.runs.value.length === 0) return <Nothing />;
  return (
    <>
      {listing.state === "failed" && <Trouble reason={listing.reason} />}
      {rows.value.length === 0 ? <NoMatch /> : <RunsTable />}
    </>
  );
}

function Nothing() {
  const listing = runs.listing.value;
  if (listing.state === "waiting") return <Skeletons />;
  if (listing.state === "failed") {
    return (
      <div class="panel-body">
        <Blank icon="warning" title="The folder cannot be read" isError>
          <span>{listing.reason}</span>
          <button class="btn" onClick={runs.retry.value}>
            Try again
          </button>
        </Blank>
      </div>
    );
  }
  if (runs.folderNote.value !== "") {
    return (
      <div class="panel-body">
        <Blank icon="warning" title="No run can be read here" isError>
          <span>{runs.folderNote.value}</span>
          <span>Runs that are started in this folder show up by themselves.</span>
        </Blank>
      </div>
    );
  }
  return (
    <div class="panel-body">
      <Blank icon="search" title="No runs yet">
        <span>Start one from Python; it shows up here by itself.</span>
        <Snippet />
      </Blank>
    </div>
  );
}

/** Over what was known: it stays. */
function Trouble({ reason }: { reason: string }) {
  return (
    <div class="strip" role="alert">
      <span class="clip">The folder cannot be read any more: {reason}</span>
      <button class="btn sm" onClick={runs.retry.value}>
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
            setFilter("");
            showState(null);
          }}
        >
          Show all runs
        </button>
      </Blank>
    </div>
  );
}

function Skeletons() {
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
