/** The view of one pass: modules, graph, inspector. */
import { useSignalEffect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../../data/format";
import { setDrawn } from "../../data/pass-address";
import { choosePass, dismissFailure, openPass } from "../../data/session";
import * as store from "../../data/store";
import { Blank, Busy } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { PanelPlace } from "../../ui/PanelPlace";
import { searchField } from "../../ui/keys";
import { panels, panelWidth, setPanel } from "../../ui/panels";
import type { PassDocument } from "../../wire";
import { GraphView } from "./drawing/GraphView";
import { ModulesPanel } from "./modules/ModulesPanel";
import { raisedWords, SidePanel, type SidePanelProps, ToLastOp } from "./side-panel/SidePanel";

export function GraphPage({ OverRun }: SidePanelProps) {
  const { width } = panels.value;
  const { left, right } = panelWidth.value;
  useSelectionOpensSheet();
  return (
    <main class={`main ${width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }}>
      <PanelPlace side="left">
        <ModulesPanel />
      </PanelPlace>
      <Stage />
      <PanelPlace side="right">
        <SidePanel OverRun={OverRun} />
      </PanelPlace>
    </main>
  );
}

/** On a narrow page the inspector is a sheet: it comes when something is selected, but not over a search. */
function useSelectionOpensSheet(): void {
  useSignalEffect(() => {
    const key = store.selected.value;
    const isSearching = window.document.activeElement === searchField.current && searchField.current !== null;
    if (key !== null && panels.peek().width === "narrow" && !isSearching) setPanel("right", true);
  });
}

/** The middle of the page: the graph, or what stands there while there is none. */
function Stage() {
  const opening = store.opening.value;
  const hasGraph = store.document.value !== null;
  return (
    <section class="canvas" aria-label="Graph" aria-busy={opening.state === "loading"}>
      {hasGraph && (
        <>
          <GraphView />
          <GraphPlace />
          <RaisedBanner />
        </>
      )}
      {!hasGraph && opening.state === "empty" && <Empty />}
      {opening.state === "loading" && <Loading opening={opening} isOver={hasGraph} />}
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

type LoadingState = Extract<store.Opening, { state: "loading" }>;

function Loading({ opening: { name, since }, isOver }: { opening: LoadingState; isOver: boolean }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [since]);
  const seconds = Math.floor((now - since) / 1000);
  // Under a second the skeleton of the tree says enough.
  if (seconds < 1) return null;
  return (
    <div class={isOver ? "over" : "fill"}>
      <Busy title={`Reading ${name}`} label="Reading the pass" style="">
        <span>{formatCount(seconds)} s so far</span>
      </Busy>
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

/** Stands beside the drawing, and tells that it is there: it has then opened its first groups. */
function GraphPlace() {
  useEffect(() => {
    setDrawn(true);
    return () => setDrawn(false);
  }, []);
  return null;
}

/** Over the graph of a pass that raised: where it ended, with a way there. */
function RaisedBanner() {
  const document = store.document.value;
  const [dismissed, setDismissed] = useState<PassDocument | null>(null);
  if (document === null || document.error === "" || dismissed === document) return null;
  const last = document.ops.length - 1;
  return (
    <div class="float raised-banner" role="status">
      <Icon name="warning" />
      <div class="grow">
        <b>{raisedWords(last)}</b>
        <span class="raised-text">{document.error}</span>
      </div>
      <ToLastOp index={last} />
      <button class="btn quiet square" aria-label="Dismiss" onClick={() => setDismissed(document)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
