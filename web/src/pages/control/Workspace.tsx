/** The network beside the plots, and the tables below them. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { about, control } from "../../data/control";
import { options } from "../../plot/scalars/options";
import { useCharts } from "../../plot/scalars/plot-keys";
import { spoken } from "../../plot/scalars/state";
import { Blank, Busy } from "../../ui/Blank";
import { Separator } from "../../ui/Separator";
import { Tabs } from "../../ui/controls";
import { rememberedSize } from "../../ui/panels";
import { useWidth } from "../../ui/useWidth";
import { ofAll } from "./listings";
import { NetworkPanel } from "./network/NetworkPanel";
import { charts, PlotFigure } from "./plots/PlotFigure";
import { TableView } from "./tables/TableView";
import * as tables from "./tables/table-data";
import "./tables/tables.css";
import "../../plot/scalars/scalars.css";
import "./plots/plots.css";

export function Workspace() {
  const box = useRef<HTMLDivElement>(null);
  // What was seen stays, also after an Init that failed.
  const now = control.value;
  if (now === null || (now.run_id === "" && now.all_run_ids.length === 0)) return <Nothing />;
  const [width, height] = [network.size.value, upper.size.value];
  return (
    <div class="control-work" ref={box} style={{ "--network": `${width}px`, "--upper": `${height}%` }}>
      <div class="work-upper">
        <div class="work-network">
          <NetworkPanel />
          <Separator
            {...network}
            style="splitter upright"
            label="Width of the network"
            size={width}
            perPixel={() => 1}
            keyStep={KEY_STEP}
          />
        </div>
        <PlotsPanel />
        <Separator
          {...upper}
          style="splitter level"
          label="Height of the network and the plots"
          isUpright={false}
          size={height}
          perPixel={() => 100 / Math.max(1, box.current?.clientHeight ?? 1)}
          keyStep={KEY_STEP}
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
  return (
    <div class="control-nothing canvas">
      {state === "new" ? (
        <Blank icon="play" title="Not initialised">
          <span>Init, at the top left, builds the network and the data.</span>
        </Blank>
      ) : (
        <Busy title={state === null ? "Asking for the training" : "The training is starting"} label="Starting">
          {state !== null && <span>Its process reads the file, and builds the network and the data.</span>}
        </Busy>
      )}
    </div>
  );
}

// --- How the room beside the form is shared out.

const KEY_STEP = 24;

/** How wide the network is, in pixels, and how high the upper row, in hundredths of the height. */
const network = rememberedSize("control-network", 240, 720, 368);
const upper = rememberedSize("control-upper", 25, 80, 49);

const AT_A_GLANCE = 4;

/** The plots that a training wants, as its numbers come: a few at a glance, more by scrolling. */
function PlotsPanel() {
  useCharts();
  const all = charts.value;
  const large = all.find(({ key }) => key === options.value.enlarged);
  const shown = large === undefined ? all : [large];
  const style = ["", "one", "two"][shown.length] ?? (shown.length > AT_A_GLANCE ? "many" : "");
  return (
    <section class="panel control-plots" aria-label="Plots">
      {all.length > 0 ? (
        <div class={`panel-body plot-grid ${style}`}>
          {shown.map((chart) => (
            <PlotFigure key={chart.key} chart={chart} isEnlarged={chart === large} />
          ))}
        </div>
      ) : about.value === null ? (
        <div class="panel-body" aria-busy={control.value === null} />
      ) : (
        <Blank icon="chart" title="No plots yet">
          <span>They come with Init.</span>
        </Blank>
      )}
      <div class="sr" role="status" aria-label="At the cursor">
        {spoken}
      </div>
    </section>
  );
}

/** Narrower than this there is room for one only. */
const TWO = 800;

/** The tables of a training: epochs, tests and runs at the left, the trials of the last test at the right. */
export function TablesPanel() {
  const [box, width] = useWidth<HTMLElement>(1200);
  const others = tables.useOtherTables();
  const isWide = width >= TWO;
  const left = [tables.TRAIN_EPOCHS, ...(isWide ? [] : [tables.TEST_TRIALS]), tables.TEST_EPOCHS, tables.RUNS, ...others];
  const chosen = tables.chosenTable.value;
  const name = left.includes(chosen) ? chosen : tables.TRAIN_EPOCHS;
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
              choose={tables.chooseTable}
            />
          )}
        />
      </div>
      {isWide && (
        <div class="panel">
          <TableView
            name={tables.TEST_TRIALS}
            title={(count) => (
              <>
                <h2>{tables.tableTitle(tables.TEST_TRIALS)}</h2>
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
      {tables.tableTitle(name)}
      {name === chosen && count !== null && <span class="muted fs-1"> {count}</span>}
      {name !== chosen && name === tables.newTable.value && <span class="tab-new"> new</span>}
    </>
  );
}
