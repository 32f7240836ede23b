/** The network beside the plots, and the tables below them. */
import { useRef } from "preact/hooks";
import { Blank } from "../shell/Blank";
import { NetworkPanel } from "./network/NetworkPanel";
import { PlotsPanel } from "./plots/PlotsPanel";
import { sizes } from "./sizes";
import { Splitter } from "./Splitter";
import { control } from "./store";
import { TablesPanel } from "./tables/TablesPanel";
import { ofAll } from "./wording";

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
          <Splitter name="network" label="Width of the network" isUpright perPixel={() => 1} />
        </div>
        <PlotsPanel />
        <Splitter
          name="upper"
          label="Height of the network and the plots"
          isUpright={false}
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
      <div class="blank late" aria-busy="true">
        <b>{state === null ? "Asking for the training" : "The training is starting"}</b>
        <div class="bar moving" role="progressbar" aria-label="Starting">
          <i />
        </div>
        {state !== null && <span>Its process reads the file, and builds the network and the data.</span>}
      </div>
    </div>
  );
}
