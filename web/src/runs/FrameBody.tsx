/** The view of chosen runs, or what stands there while there are none. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { addressOf, param, route } from "../route";
import { Blank } from "../shell/Blank";
import type { RecordKind } from "../wire";
import { Snippet } from "./Snippet";
import * as runs from "./store";
import { useScrollMemory } from "./useScrollMemory";

export function FrameBody({ isForAll, children }: { isForAll: boolean; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useScrollMemory(box, route.value.view ?? "");
  return (
    <div class="panel-body" ref={box} aria-busy={runs.listing.value.state === "waiting"}>
      {standIn(isForAll) ?? children}
    </div>
  );
}

/** Null where there are runs to show. */
function standIn(isForAll: boolean): ComponentChildren {
  const listing = runs.listing.value;
  // What was known stays: a folder that cannot be read any more has charts to show.
  if (runs.runs.value.length > 0) {
    if (isForAll || runs.chosen.value.length > 0) return route.value.view === "training" ? layersOnly() : null;
    const isGone = !["", runs.NONE].includes(param("runs"));
    return (
      <Blank icon="tree" title={isGone ? "The run of this address is not in the folder" : "No run is chosen"}>
        {isGone && <span>It was removed or renamed, or the address is of another folder.</span>}
        <span>Choose one in the list of runs to see it here.</span>
        <button class="btn" onClick={() => runs.chooseAll(runs.runs.value.map((run) => run.id))}>
          Show all
        </button>
      </Blank>
    );
  }
  if (listing.state === "waiting") return <Waiting />;
  if (listing.state === "failed") {
    return (
      <Blank icon="warning" title="The runs cannot be read" isError>
        <span>{listing.reason}</span>
        <button class="btn" onClick={runs.retry.value}>
          Try again
        </button>
      </Blank>
    );
  }
  return (
    <Blank icon="search" title="No runs yet">
      <span>Start one from Python; it shows up here by itself.</span>
      <Snippet />
    </Blank>
  );
}

/** What charts show nothing of. */
const NOT_IN_CHARTS: ReadonlySet<RecordKind> = new Set(["netview", "moment", "tensor", "gap", "pass", "embedding", "hparams", "layout"]);

/** Where the chosen runs have a network to look at and no charts, the way there; null elsewhere. */
function layersOnly(): ComponentChildren {
  if (!runs.isIndexed.value) return null;
  const kindsOf = (id: string): RecordKind[] => [...(runs.index.value.get(id)?.values() ?? [])].map(({ kind }) => kind);
  const { value: chosen } = runs.chosen;
  const withNet = chosen.find(({ id }) => kindsOf(id).includes("netview"));
  if (withNet === undefined || !chosen.every(({ id }) => kindsOf(id).every((kind) => NOT_IN_CHARTS.has(kind)))) return null;
  return (
    <Blank icon="details" title="No scalars were logged">
      <span>{withNet.name} has layers that can be looked at.</span>
      <a class="btn" href={addressOf("netview", { run: withNet.id })}>
        Show it in NetView
      </a>
    </Blank>
  );
}

function Waiting() {
  return (
    <div class="frame-waiting late" aria-hidden="true">
      {[0, 1, 2, 3].map((at) => (
        <i key={at} class="skeleton block" />
      ))}
    </div>
  );
}
