/** The whole page: top bar, the view that the address names, what floats above it. */
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatClock } from "../data/format";
import { runs } from "../data/runs";
import type { Connection } from "../data/source";
import * as store from "../data/store";
import { TITLES } from "../data/route";
import { type Area, areas, shownArea, shownView } from "../data/views";
import { Icon } from "../ui/Icon";
import { keysShown } from "../ui/keys";
import type { RunListing } from "../wire";
import { TopBar } from "./TopBar";
import { hasPlaces, letterOf } from "./keys";
import { newsOf } from "./run-news";
import type { Pages } from "./start";

export function App({ pages }: { pages: Pages }) {
  const view = shownView.value;
  const Page = view === null ? null : (pages[view] ?? pages.graph);
  return (
    <div class="app">
      <TopBar />
      {/* For a moment the server has not said yet what there is to see. */}
      {Page === null ? <main class="main" aria-busy="true" /> : <Page />}
      <ConnectionToast />
      <RunNews />
      <KeysDialog />
    </div>
  );
}

/** Says to those who listen that a run has ended, and how. Values are not said. */
function RunNews() {
  const before = useRef<ReadonlyMap<string, RunListing>>(new Map());
  const [said, setSaid] = useState("");
  useSignalEffect(() => {
    const now = new Map(runs.value.map((run) => [run.id, run]));
    const news = newsOf(before.current, now);
    before.current = now;
    if (news !== "") setSaid(news);
  });
  return (
    <div class="sr" role="status" aria-label="Runs that ended">
      {said}
    </div>
  );
}

/** All keys, in a window of their own. */
function KeysDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = keysShown.value;
  useLayoutEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={() => (keysShown.value = false)}>
      <div class="panel-head">
        <h2 id="keys-title">Keys</h2>
        <span class="grow" />
        <button class="btn quiet square" aria-label="Close" onClick={() => (keysShown.value = false)}>
          <Icon name="close" />
        </button>
      </div>
      <div class="keys-body">
        {Object.entries(keyTable()).map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl class="keys-list">
              {rows.map(([keys, action]) => (
                <div key={action}>
                  <dt>
                    {keys.split(" ").map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{action}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="muted fs-1">Single letters are off while a text field has focus.</p>
    </dialog>
  );
}

/** Says that the connection is lost, since when, and when it is tried again. */
function ConnectionToast() {
  const connection = store.source.value?.connection.value;
  const shown = useLastTrouble(connection);
  if (shown === null) return null;
  return (
    <div class="toast" role="status" data-testid="connection-toast">
      <Icon name="broken" />
      {shown.state === "refused" ? <Refused /> : <Lost connection={shown} />}
      <button class="btn sm" onClick={() => store.source.value?.retryNow()}>
        Try now
      </button>
    </div>
  );
}

type LostConnection = Extract<Connection, { state: "lost" }>;
type Trouble = LostConnection | Extract<Connection, { state: "refused" }>;

/** While a new attempt is under way the toast stays as it was, so that it does not flicker. */
function useLastTrouble(connection: Connection | undefined): Trouble | null {
  const [last, setLast] = useState<Trouble | null>(null);
  const now = connection?.state === "lost" || connection?.state === "refused" ? connection : null;
  const isTrying = connection?.state === "connecting";
  useEffect(() => {
    if (!isTrying) setLast(now);
  }, [connection]);
  return isTrying ? last : now;
}

function Refused() {
  return (
    <span>
      <b>The server does not know this page.</b>{" "}
      <span class="dim">It was started anew: open the address that the server printed.</span>
    </span>
  );
}

function Lost({ connection }: { connection: LostConnection }) {
  const seconds = useSecondsUntil(connection.retryAt);
  const when = seconds > 0 ? `Trying again in ${seconds} s.` : "Trying again.";
  const hasValues = store.document.value !== null || runs.value.length > 0;
  const values = hasValues ? `Showing values from ${formatClock(connection.lastHeard)}. ` : "";
  return (
    <span>
      <b>Connection lost.</b>{" "}
      <span class="dim">
        {values}
        {/* The countdown is for the eye: a screen reader would be told every second. */}
        <span aria-hidden="true">{when}</span>
      </span>
    </span>
  );
}

function useSecondsUntil(when: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [when]);
  return Math.max(0, Math.ceil((when - now) / 1000));
}

// --- All keys, as the window that lists them shows them: by the views that they belong to, a space between keys.

type KeyRows = readonly (readonly [keys: string, action: string])[];
type KeyGroups = Readonly<Record<string, KeyRows>>;

/** Control and Learn have nothing to search in. */
const FIND: Partial<Record<Area, string>> = {
  runs: "Filter the runs",
  graph: "Find a module or op",
  netview: "Filter the layers",
  training: "Filter the runs",
  features: "Filter the layers",
};

const KEYS: Record<Area, KeyGroups> = {
  runs: {
    Runs: [
      ["↑ ↓", "Move"],
      ["Home End", "First, last"],
      ["x", "Add to the comparison, or take out"],
      ["Enter", "Open the run in Training"],
    ],
  },
  graph: {
    Graph: [
      ["↑ ↓", "Along the edges, against and with the flow"],
      ["← →", "To a neighbour"],
      ["Enter", "Open the module, show the op"],
      ["e", "Open or close the selected module"],
      ["Home End", "First, last op"],
      ["[ ]", "Batch item before, after"],
      ["0", "Fit the graph"],
      ["+ −", "Zoom"],
    ],
    Lists: [
      ["↑ ↓", "Move"],
      ["→ ←", "Open, close"],
      ["Enter", "Show in the graph"],
      ["Home End", "First, last"],
    ],
  },
  netview: {
    "Time and values": [
      ["← →", "One moment, with Shift ten"],
      ["Home End", "First, last moment"],
      ["Space", "Play, pause"],
      ["f", "Follow the newest"],
      ["v", "To the variables; arrows choose"],
      ["[ ]", "Batch item before, after"],
    ],
    Camera: [
      ["0 + −", "Fit, zoom"],
      ["1 – 4", "Use a saved camera, with Shift save it"],
    ],
    "Network, where it has the focus": [
      ["w a s d", "Turn, with Shift move"],
      ["i j k l", "The unit above, left, below, right"],
      ["u o", "The layer below, above"],
      ["Enter", "The layer alone, and back"],
    ],
    "Analysis, where a picture has the focus": [
      ["← → ↑ ↓", "The item or unit before, after; with Shift ten"],
      ["Enter", "Show the item in the network"],
    ],
  },
  control: {
    Training: [
      [".", "Step"],
      ["r", "Run"],
      ["s", "Stop; again: end the process"],
    ],
    "Parameters, in a field": [
      ["Enter", "Apply a live parameter"],
      ["Esc", "Take back what was typed"],
    ],
    Network: [
      ["v", "Variable list"],
      ["[ ]", "Item of the batch"],
      ["0 + −", "Fit, zoom"],
      ["1 2 3 4", "Camera, with Shift save it"],
    ],
    "Plots, where they have the focus": [
      ["← →", "One point, with Shift ten"],
      ["Home End", "First, last point"],
      ["Enter", "Enlarge"],
    ],
    "Tables, where they have the focus": [
      ["↑ ↓", "Move"],
      ["Enter", "Test the item of the row"],
    ],
  },
  training: {
    "Charts, pictures and steps, where they have the focus": [
      ["← →", "One step, with Shift ten"],
      ["Home End", "First, last step"],
      ["+ − 0", "Zoom, fit"],
      ["Enter", "Enlarge a chart, open a point"],
      ["Esc", "Back to the whole"],
    ],
    "Layers, where the map has the focus": [
      ["↑ ↓ ← →", "From cell to cell, with Shift ten"],
      ["Enter", "Open the row at this step"],
      ["Home End", "First, last step"],
      ["+ − 0", "Zoom, all steps"],
      ["Esc", "Back to the whole, close the row"],
    ],
    Tensors: [
      ["← →", "One step, with Shift ten"],
      ["Home End", "First, last step"],
      ["Space", "Play, pause"],
      ["f", "Follow the newest"],
      ["x", "Compare with another step"],
      ["[ ]", "Item before, after"],
    ],
    Projector: [
      ["2 3", "Two, three dimensions"],
      ["0 + −", "Fit, zoom"],
      ["↑ ↓ ← →", "From point to point"],
      ["Enter", "Neighbours of the point; again: select them"],
      ["Space", "Add the point to the selection"],
    ],
    Runs: [
      ["Space", "Show or hide the run"],
      ["↑ ↓", "Move in the list"],
    ],
  },
  features: {
    Layers: [
      ["↑ ↓", "To another layer"],
      ["Home End", "First, last"],
      ["Enter", "Look at its values"],
    ],
    "Pictures, where they have the focus": [
      ["↑ ↓ ← →", "From cell to cell, with Shift ten"],
      ["Home End", "First, last of the row"],
      ["Enter", "Choose the sample and the unit"],
      ["Esc", "Let go of them"],
    ],
    Projector: [
      ["2 3", "Two, three dimensions"],
      ["0 + −", "Fit, zoom"],
    ],
  },
  learn: {
    Steps: [
      ["← →", "One step, with Shift ten"],
      ["Home End", "First, last step"],
      ["Space", "Play, pause"],
      ["b", "Backward, forward"],
      ["Enter", "Show what was to be guessed"],
    ],
    "Graph, where a value has the focus": [
      ["↑ ↓", "Along the edges: to what made it, to what it made"],
      ["← →", "To a neighbour"],
      ["Enter", "Show its numbers"],
      ["0 + −", "Fit, zoom; from anywhere"],
    ],
    "Numbers, where they have the focus": [["← → ↑ ↓", "From element to element"]],
    "Lists, where they have the focus": [
      ["↑ ↓", "Move"],
      ["Home End", "First, last"],
    ],
    "Expression and answers, in a field": [
      ["Ctrl Enter", "Run the expression"],
      ["Enter", "Check an answer or a guess"],
      ["Esc", "Take back what was typed"],
    ],
  },
};

/** The keys of what is shown; those of other views are listed there. */
export function keyTable(): KeyGroups {
  const area = shownArea.value;
  const find = FIND[area];
  return {
    Anywhere: [
      ...(hasPlaces() ? areas.value.map(placeRow) : []),
      ...(find === undefined ? [] : [["/", find] as const]),
      ["Esc", "Clear the selection, close"],
      ["?", "Show all keys"],
    ],
    ...KEYS[area],
  };
}

function placeRow(area: Area, at: number): KeyRows[number] {
  return [`g ${letterOf(area)}`, `Go to ${TITLES[area]}${at === 0 ? ": one after the other" : ""}`];
}
