/** The middle of the page: the graph, or what stands there while there is none. */
import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../format";
import { GraphView } from "../graph/GraphView";
import { choosePass, dismissFailure, openPass } from "../session";
import * as store from "../store";
import { Blank } from "./Blank";
import { GraphPlace } from "./GraphPlace";
import { RaisedBanner } from "./RaisedBanner";

export function Stage() {
  const opening = store.opening.value;
  const hasGraph = store.document.value !== null;
  return (
    <section class="canvas" aria-label="Graph" aria-busy={opening.state === "loading"}>
      {hasGraph && <GraphView />}
      {hasGraph && <GraphPlace />}
      {hasGraph && <RaisedBanner />}
      {!hasGraph && opening.state === "empty" && <Empty />}
      {(opening.state === "loading" || opening.state === "waiting") && (
        <Loading opening={opening} isOver={hasGraph} />
      )}
      {opening.state === "failed" && <Failed name={opening.name} reason={opening.reason} isOver={hasGraph} />}
    </section>
  );
}

const LOOK_AGAIN_MS = 3000;

function Empty() {
  // A pass that is saved meanwhile shows up by itself.
  useEffect(() => {
    const timer = setInterval(() => store.source.value?.refreshPasses(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Blank icon="frame" title="No pass captured">
      <span>Capture one forward pass and save it to see its graph.</span>
      <pre>{'history = torcheer.log_forward_pass(model, x)\nhistory.save("pass.safetensors")'}</pre>
    </Blank>
  );
}

type LoadingState = Extract<store.Opening, { state: "loading" | "waiting" }>;

function Loading({ opening, isOver }: { opening: LoadingState; isOver: boolean }) {
  const seconds = useSeconds(opening.state === "loading" ? opening.since : 0);
  // Under a second the skeleton of the tree says enough.
  if (opening.state === "waiting" || seconds < 1) return null;
  return (
    <div class={isOver ? "over" : "fill"}>
      <div class="blank" aria-busy="true">
        <b>Reading {opening.name}</b>
        <div class="bar moving" role="progressbar" aria-label="Reading the pass">
          <i />
        </div>
        <span>{formatCount(seconds)} s so far</span>
      </div>
    </div>
  );
}

function Failed({ name, reason, isOver }: { name: string; reason: string; isOver: boolean }) {
  return (
    <div class={isOver ? "over" : "fill"}>
      <Blank icon="warning" title={`${name} cannot be shown`} isError>
        <span>{reason}</span>
        {isOver ? (
          <button class="btn" onClick={dismissFailure}>
            Stay with the pass shown
          </button>
        ) : (
          <FailedWay name={name} />
        )}
      </Blank>
    </div>
  );
}

/** Try once more or, where the pass is not there, go on with one that is. */
function FailedWay({ name }: { name: string }) {
  const passes = store.source.value?.passes.value ?? [];
  const pass = passes.find((one) => one.id === store.passId.value);
  const first = passes[0];
  if (pass?.name === name) {
    return (
      <button class="btn" onClick={() => void openPass(pass)}>
        Try again
      </button>
    );
  }
  if (first === undefined) return null;
  return (
    <button class="btn" onClick={() => choosePass(first)}>
      Open {first.name}
    </button>
  );
}

function useSeconds(since: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [since]);
  return since === 0 ? 0 : Math.floor(Math.max(0, now - since) / 1000);
}
