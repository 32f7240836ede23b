/** The network beside the plots, and the tables below them. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { about, control } from "../../data/control";
import { recall, remember } from "../../data/remembered";
import { options, settleOptions } from "../../plot/scalars/options";
import { startEscape } from "../../plot/scalars/plot-keys";
import { followOptions } from "../../plot/scalars/series-feed";
import { cursor, spoken } from "../../plot/scalars/state";
import { Blank, Busy } from "../../ui/Blank";
import { Separator } from "../../ui/Separator";
import { Tabs } from "../../ui/controls";
import { useWidth } from "../../ui/useWidth";
import { NetworkPanel } from "./network/NetworkPanel";
import { PlotFigure } from "./plots/PlotFigure";
import { charts } from "./plots/subject";
import { TableView } from "./tables/TableView";
import {
  chooseTable,
  chosenTable,
  newTable,
  RUNS,
  tableTitle,
  TEST_EPOCHS,
  TEST_TRIALS,
  TRAIN_EPOCHS,
  useOtherTables,
} from "./tables/table-data";
import { ofAll } from "./words";
import "./tables/tables.css";
import "../../plot/scalars/scalars.css";
import "./plots/plots.css";

export function Workspace() {
  const box = useRef<HTMLDivElement>(null);
  // What was seen stays, also after an Init that failed.
  const now = control.value;
  if (now === null || (now.run_id === "" && now.all_run_ids.length === 0)) return <Nothing />;
  const { network, upper } = sizes.value;
  return (
    <div class="control-work" ref={box} style={{ "--network": `${network}px`, "--upper": `${upper}%` }}>
      <div class="work-upper">
        <div class="work-network">
          <NetworkPanel />
          <Splitter name="network" label="Width of the network" perPixel={() => 1} />
        </div>
        <PlotsPanel />
        <Splitter
          name="upper"
          label="Height of the network and the plots"
          perPixel={() => 100 / Math.max(1, box.current?.clientHeight ?? 1)}
        />
      </div>
      <TablesPanel />
      <Meanwhile />
    </div>
  );
}

/** Over what was seen before: what one waits for, where it takes its time. */
function Meanwhile() {
  const { state, counters } = control.value!.listing;
  if (state !== "starting" && state !== "stopping") return null;
  const isStopping = state === "stopping";
  return (
    <div class="float meanwhile">
      <b>{isStopping ? "Stopping after this trial" : "Building the network and the data"}</b>
      <span>
        {isStopping && `${ofAll(counters.trial, counters.num_trials).replace(" / ", " of ")} done; `}
        {isStopping ? "press Stop again to abort" : "Stop ends the process"}
      </span>
    </div>
  );
}

function Nothing() {
  const state = control.value?.listing.state ?? null;
  if (state === "failed" || state === "died") return <div class="control-work" />;
  if (state === "new") {
    return (
      <div class="control-nothing canvas">
        <Blank icon="play" title="Not initialised">
          <span>Init, at the top left, builds the network and the data.</span>
        </Blank>
      </div>
    );
  }
  return (
    <div class="control-nothing canvas">
      <Busy title={state === null ? "Asking for the training" : "The training is starting"} label="Starting">
        {state !== null && <span>Its process reads the file, and builds the network and the data.</span>}
      </Busy>
    </div>
  );
}

// --- The edge between two parts of the page.

const KEY_STEP = 24;

function Splitter({ name, label, perPixel }: { name: SizeName; label: string; perPixel: () => number }) {
  const isUpright = name === "network";
  return (
    <Separator
      style={`splitter ${isUpright ? "upright" : "level"}`}
      label={label}
      isUpright={isUpright}
      size={sizes.value[name]}
      least={SIZES[name].least}
      most={SIZES[name].most}
      perPixel={perPixel}
      keyStep={KEY_STEP}
      resize={(size) => resize(name, size)}
    />
  );
}

// --- How the room beside the form is shared out: how wide the network is, and how high the upper row.

interface Size {
  readonly least: number;
  readonly most: number;
  readonly first: number;
}

/** In pixels and in hundredths of the height. */
const SIZES = {
  network: { least: 240, most: 720, first: 368 },
  upper: { least: 25, most: 80, first: 49 },
} as const satisfies Record<string, Size>;

type SizeName = keyof typeof SIZES;

const sizes = signal<Readonly<Record<SizeName, number>>>({
  network: recalled("network"),
  upper: recalled("upper"),
});

function recalled(name: SizeName): number {
  const known = Number(recall(`control-${name}`));
  return known > 0 ? within(name, known) : SIZES[name].first;
}

function within(name: SizeName, size: number): number {
  return Math.max(SIZES[name].least, Math.min(SIZES[name].most, Math.round(size)));
}

function resize(name: SizeName, size: number): void {
  sizes.value = { ...sizes.peek(), [name]: within(name, size) };
  remember(`control-${name}`, String(sizes.peek()[name]));
}

// --- The plots that a training wants, as its numbers come: a few at a glance, more by scrolling.

/** So many have room without scrolling. */
const AT_A_GLANCE = 4;

function PlotsPanel() {
  useEffect(() => {
    const stops = [followOptions(), startEscape()];
    return () => {
      settleOptions();
      for (const stop of stops) stop();
    };
  }, []);
  // As it goes, not after the next paint: by then the next charts may be there, and pointed at.
  useLayoutEffect(() => () => (cursor.value = null), []);
  return (
    <section class="panel control-plots" aria-label="Plots">
      <Plots />
      <div class="sr" role="status" aria-label="At the cursor">
        {spoken}
      </div>
    </section>
  );
}

function Plots() {
  const all = charts.value;
  if (all.length === 0) return <NoPlots />;
  const large = all.find(({ key }) => key === options.value.enlarged);
  const shown = large === undefined ? all : [large];
  const style = shown.length === 1 ? "one" : shown.length === 2 ? "two" : shown.length > AT_A_GLANCE ? "many" : "";
  return (
    <div class={`panel-body plot-grid ${style}`}>
      {shown.map((chart) => (
        <PlotFigure key={chart.key} chart={chart} isEnlarged={chart === large} />
      ))}
    </div>
  );
}

function NoPlots() {
  if (about.value === null) return <div class="panel-body" aria-busy={control.value === null} />;
  return (
    <Blank icon="chart" title="No plots yet">
      <span>They come with Init.</span>
    </Blank>
  );
}

// --- The tables of a training: epochs, tests and runs at the left, the trials of the last test at the right.

/** Narrower than this there is room for one only. */
const TWO = 800;

export function TablesPanel() {
  const [box, width] = useWidth<HTMLElement>(1200);
  const others = useOtherTables().value;
  const isWide = width >= TWO;
  const left = [TRAIN_EPOCHS, ...(isWide ? [] : [TEST_TRIALS]), TEST_EPOCHS, RUNS, ...others];
  const chosen = chosenTable.value;
  const name = left.includes(chosen) ? chosen : TRAIN_EPOCHS;
  return (
    <section ref={box} class={isWide ? "control-tables two" : "control-tables"} aria-label="Tables">
      <div class="panel">
        <TableView
          key={name}
          name={name}
          isTab
          title={(count) => (
            <Tabs
              label="Tables"
              style="table-tabs"
              words={left.map((one) => [one, tabTitle(one, name, count)] as const)}
              chosen={name}
              choose={chooseTable}
            />
          )}
        />
      </div>
      {isWide && (
        <div class="panel">
          <TableView
            name={TEST_TRIALS}
            title={(count) => (
              <>
                <h2>{tableTitle(TEST_TRIALS)}</h2>
                <span class="muted fs-1 clip">{count}</span>
              </>
            )}
          />
        </div>
      )}
    </section>
  );
}

/** With how many rows the chosen one has, and which other has something new. */
function tabTitle(name: string, chosen: string, count: ComponentChildren): ComponentChildren {
  return (
    <>
      {tableTitle(name)}
      {name === chosen && count !== null && <span class="muted fs-1"> {count}</span>}
      {name !== chosen && name === newTable.value && <span class="tab-new"> new</span>}
    </>
  );
}
