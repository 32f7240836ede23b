/** A training in another process: what can be done with it, its parameters, and what is seen of it. */
import { useEffect } from "preact/hooks";
import { Blank } from "../shell/Blank";
import { PanelPlace } from "../shell/PanelPlace";
import { panels, panelWidth } from "../shell/panels";
import * as page from "../store";
import { run, step, stop } from "./acting";
import { ControlNews } from "./ControlNews";
import { settleDrafts } from "./drafts";
import { FaultPanel } from "./FaultPanel";
import { FormPanel } from "./FormPanel";
import { NoteStrip } from "./NoteStrip";
import { RefusalStrip } from "./RefusalStrip";
import { controls, failure, followControl } from "./store";
import { Toolbar } from "./Toolbar";
import { useControlKeys } from "./useControlKeys";
import { Workspace } from "./Workspace";
import "./control.css";

export function ControlPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    const stops = [followControl(source), settleDrafts()];
    return () => stops.forEach((end) => end());
  }, [source]);
  useControlKeys({ step, run, stop });
  if (controls.value?.length === 0) return <NothingHere />;
  if (failure.value !== "") return <NotThere reason={failure.value} />;
  return (
    <main class={`main control ${panels.value.width}`} style={{ "--left": `${panelWidth.value.left}px` }}>
      <h1 class="sr">Control</h1>
      <Toolbar />
      <PanelPlace side="left">
        <FormPanel />
      </PanelPlace>
      <div class="control-middle">
        <RefusalStrip />
        <NoteStrip />
        <FaultPanel />
        <Workspace />
      </div>
      <ControlNews />
    </main>
  );
}

function NothingHere() {
  return (
    <main class="main control-nothing">
      <h1 class="sr">Control</h1>
      <Blank icon="play" title="Nothing to control here">
        <span>A training that can be stepped is named when the server is started:</span>
        <pre>torcheer control examples/etra25.py:loop</pre>
      </Blank>
    </main>
  );
}

function NotThere({ reason }: { reason: string }) {
  return (
    <main class="main control-nothing">
      <h1 class="sr">Control</h1>
      <Blank icon="warning" title="The training of this address is not here" isError>
        <span>{reason}</span>
        <span>Choose another one at the top.</span>
      </Blank>
    </main>
  );
}
