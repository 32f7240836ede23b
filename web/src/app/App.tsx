/** The whole page: top bar, the view that the address names, what floats above it. */
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatClock } from "../data/format";
import { runs } from "../data/runs";
import type { Connection } from "../data/source";
import * as store from "../data/store";
import { type Area, areas, shownArea, shownView, TITLES } from "../data/views";
import { Icon } from "../ui/Icon";
import { keysShown } from "../ui/keys";
import type { RunListing } from "../wire";
import { TopBar } from "./TopBar";
import { hasPlaces } from "./keys";
import { newsOf } from "./run-news";
import type { Pages } from "./start";

export function App({ pages }: { pages: Pages }) {
  const view = shownView.value;
  const Page = view === null ? Waiting : (pages[view] ?? pages.graph);
  return (
    <div class="app">
      <TopBar />
      <Page />
      <ConnectionToast />
      <RunNews />
      <KeysDialog />
    </div>
  );
}

/** For a moment: the server has not said yet what there is to see. */
function Waiting() {
  return <main class="main" aria-busy="true" />;
}

// --- Says to those who listen that a run has ended, and how. Values are not said.

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

// --- All keys, in a window of their own.

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
        {keyTable(hasPlaces()).map(({ title, rows }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl class="keys-list">
              {rows.map(({ keys, action }) => (
                <div key={action}>
                  <dt>
                    {keys.map((key) => (
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

// --- Says that the connection is lost, since when, and when it is tried again.

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

type Trouble = Extract<Connection, { state: "lost" | "refused" }>;

/** While a new attempt is under way the toast stays as it was, so that it does not flicker. */
function useLastTrouble(connection: Connection | undefined): Trouble | null {
  const [last, setLast] = useState<Trouble | null>(null);
  useEffect(() => {
    if (connection?.state === "lost" || connection?.state === "refused") setLast(connection);
    else if (connection?.state !== "connecting") setLast(null);
  }, [connection]);
  if (connection?.state === "connecting") return last;
  return connection?.state === "lost" || connection?.state === "refused" ? connection : null;
}

function Refused() {
  return (
    <span>
      <b>The server does not know this page.</b>{" "}
      <span class="dim">It was started anew: open the address that the server printed.</span>
    </span>
  );
}

function Lost({ connection }: { connection: Extract<Connection, { state: "lost" }> }) {
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

// --- All keys, as the window that lists them shows them.

interface KeyRow {
  readonly keys: readonly string[];
  readonly action: string;
}

interface KeyGroup {
  readonly title: string;
  readonly rows: readonly KeyRow[];
}

const LETTERS: Record<Area, string> = { runs: "r", graph: "g", netview: "n", control: "c", training: "t", features: "f", learn: "l" };

/** Control and Learn have nothing to search in. */
const FIND: Partial<Record<Area, string>> = {
  runs: "Filter the runs",
  graph: "Find a module or op",
  netview: "Filter the layers",
  training: "Filter the runs",
  features: "Filter the layers",
};

const ANYWHERE: readonly KeyRow[] = [
  { keys: ["Esc"], action: "Clear the selection, close" },
  { keys: ["?"], action: "Show all keys" },
];

const GRAPH: readonly KeyGroup[] = [
  {
    title: "Graph",
    rows: [
      { keys: ["↑", "↓"], action: "Along the edges, against and with the flow" },
      { keys: ["←", "→"], action: "To a neighbour" },
      { keys: ["Enter"], action: "Open the module, show the op" },
      { keys: ["e"], action: "Open or close the selected module" },
      { keys: ["Home", "End"], action: "First, last op" },
      { keys: ["[", "]"], action: "Batch item before, after" },
      { keys: ["0"], action: "Fit the graph" },
      { keys: ["+", "−"], action: "Zoom" },
    ],
  },
  {
    title: "Lists",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["→", "←"], action: "Open, close" },
      { keys: ["Enter"], action: "Show in the graph" },
      { keys: ["Home", "End"], action: "First, last" },
    ],
  },
];

const RUNS: readonly KeyGroup[] = [
  {
    title: "Runs",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["Home", "End"], action: "First, last" },
      { keys: ["x"], action: "Add to the comparison, or take out" },
      { keys: ["Enter"], action: "Open the run in Training" },
    ],
  },
];

const NETVIEW: readonly KeyGroup[] = [
  {
    title: "Time and values",
    rows: [
      { keys: ["←", "→"], action: "One moment, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last moment" },
      { keys: ["Space"], action: "Play, pause" },
      { keys: ["f"], action: "Follow the newest" },
      { keys: ["v"], action: "To the variables; arrows choose" },
      { keys: ["[", "]"], action: "Batch item before, after" },
    ],
  },
  {
    title: "Camera",
    rows: [
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
      { keys: ["1", "–", "4"], action: "Use a saved camera, with Shift save it" },
    ],
  },
  {
    title: "Network, where it has the focus",
    rows: [
      { keys: ["w", "a", "s", "d"], action: "Turn, with Shift move" },
      { keys: ["i", "j", "k", "l"], action: "The unit above, left, below, right" },
      { keys: ["u", "o"], action: "The layer below, above" },
      { keys: ["Enter"], action: "The layer alone, and back" },
    ],
  },
  {
    title: "Analysis, where a picture has the focus",
    rows: [
      { keys: ["←", "→", "↑", "↓"], action: "The item or unit before, after; with Shift ten" },
      { keys: ["Enter"], action: "Show the item in the network" },
    ],
  },
];

const CONTROL: readonly KeyGroup[] = [
  {
    title: "Training",
    rows: [
      { keys: ["."], action: "Step" },
      { keys: ["r"], action: "Run" },
      { keys: ["s"], action: "Stop; again: end the process" },
    ],
  },
  {
    title: "Parameters, in a field",
    rows: [
      { keys: ["Enter"], action: "Apply a live parameter" },
      { keys: ["Esc"], action: "Take back what was typed" },
    ],
  },
  {
    title: "Network",
    rows: [
      { keys: ["v"], action: "Variable list" },
      { keys: ["[", "]"], action: "Item of the batch" },
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
      { keys: ["1", "2", "3", "4"], action: "Camera, with Shift save it" },
    ],
  },
  {
    title: "Plots, where they have the focus",
    rows: [
      { keys: ["←", "→"], action: "One point, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last point" },
      { keys: ["Enter"], action: "Enlarge" },
    ],
  },
  {
    title: "Tables, where they have the focus",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["Enter"], action: "Test the item of the row" },
    ],
  },
];

const TRAINING: readonly KeyGroup[] = [
  {
    title: "Charts, pictures and steps, where they have the focus",
    rows: [
      { keys: ["←", "→"], action: "One step, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["+", "−", "0"], action: "Zoom, fit" },
      { keys: ["Enter"], action: "Enlarge a chart, open a point" },
      { keys: ["Esc"], action: "Back to the whole" },
    ],
  },
  {
    title: "Layers, where the map has the focus",
    rows: [
      { keys: ["↑", "↓", "←", "→"], action: "From cell to cell, with Shift ten" },
      { keys: ["Enter"], action: "Open the row at this step" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["+", "−", "0"], action: "Zoom, all steps" },
      { keys: ["Esc"], action: "Back to the whole, close the row" },
    ],
  },
  {
    title: "Tensors",
    rows: [
      { keys: ["←", "→"], action: "One step, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["Space"], action: "Play, pause" },
      { keys: ["f"], action: "Follow the newest" },
      { keys: ["x"], action: "Compare with another step" },
      { keys: ["[", "]"], action: "Item before, after" },
    ],
  },
  {
    title: "Projector",
    rows: [
      { keys: ["2", "3"], action: "Two, three dimensions" },
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
      { keys: ["↑", "↓", "←", "→"], action: "From point to point" },
      { keys: ["Enter"], action: "Neighbours of the point; again: select them" },
      { keys: ["Space"], action: "Add the point to the selection" },
    ],
  },
  {
    title: "Runs",
    rows: [
      { keys: ["Space"], action: "Show or hide the run" },
      { keys: ["↑", "↓"], action: "Move in the list" },
    ],
  },
];

const FEATURES: readonly KeyGroup[] = [
  {
    title: "Layers",
    rows: [
      { keys: ["↑", "↓"], action: "To another layer" },
      { keys: ["Home", "End"], action: "First, last" },
      { keys: ["Enter"], action: "Look at its values" },
    ],
  },
  {
    title: "Pictures, where they have the focus",
    rows: [
      { keys: ["↑", "↓", "←", "→"], action: "From cell to cell, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last of the row" },
      { keys: ["Enter"], action: "Choose the sample and the unit" },
      { keys: ["Esc"], action: "Let go of them" },
    ],
  },
  {
    title: "Projector",
    rows: [
      { keys: ["2", "3"], action: "Two, three dimensions" },
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
    ],
  },
];

const LEARN: readonly KeyGroup[] = [
  {
    title: "Steps",
    rows: [
      { keys: ["←", "→"], action: "One step, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["Space"], action: "Play, pause" },
      { keys: ["b"], action: "Backward, forward" },
      { keys: ["Enter"], action: "Show what was to be guessed" },
    ],
  },
  {
    title: "Graph, where a value has the focus",
    rows: [
      { keys: ["↑", "↓"], action: "Along the edges: to what made it, to what it made" },
      { keys: ["←", "→"], action: "To a neighbour" },
      { keys: ["Enter"], action: "Show its numbers" },
      { keys: ["0", "+", "−"], action: "Fit, zoom; from anywhere" },
    ],
  },
  {
    title: "Numbers, where they have the focus",
    rows: [{ keys: ["←", "→", "↑", "↓"], action: "From element to element" }],
  },
  {
    title: "Lists, where they have the focus",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["Home", "End"], action: "First, last" },
    ],
  },
  {
    title: "Expression and answers, in a field",
    rows: [
      { keys: ["Ctrl", "Enter"], action: "Run the expression" },
      { keys: ["Enter"], action: "Check an answer or a guess" },
      { keys: ["Esc"], action: "Take back what was typed" },
    ],
  },
];

const BY_AREA: Record<Area, readonly KeyGroup[]> = {
  runs: RUNS,
  graph: GRAPH,
  netview: NETVIEW,
  control: CONTROL,
  training: TRAINING,
  features: FEATURES,
  learn: LEARN,
};

/** The keys of what is shown; those of other views are listed there. */
export function keyTable(hasPlaces: boolean): readonly KeyGroup[] {
  const area = shownArea.value;
  const find = FIND[area];
  const findRow: readonly KeyRow[] = find === undefined ? [] : [{ keys: ["/"], action: find }];
  const anywhere = { title: "Anywhere", rows: [...(hasPlaces ? placeRows() : []), ...findRow, ...ANYWHERE] };
  return [anywhere, ...BY_AREA[area]];
}

function placeRows(): readonly KeyRow[] {
  return areas.value.map((area, at) => ({
    keys: ["g", LETTERS[area]],
    action: `Go to ${TITLES[area]}${at === 0 ? ": one after the other" : ""}`,
  }));
}
