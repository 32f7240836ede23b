/** The network of a run in three dimensions: variables and layers, the drawing, colours and the selected unit, time. */
import { useEffect } from "preact/hooks";
import { AnalysisStage } from "../netanalysis/AnalysisStage";
import { ChoicePanel } from "../netanalysis/ChoicePanel";
import { isAnalysis, scope } from "../netanalysis/choosing";
import { ItemSection } from "../netanalysis/ItemSection";
import { LikenessPanel } from "../netanalysis/LikenessPanel";
import { param } from "../route";
import { Snippet } from "../runs/Snippet";
import * as runs from "../runs/store";
import { Blank } from "../shell/Blank";
import { Icon } from "../shell/Icon";
import { PanelPlace } from "../shell/PanelPlace";
import { panels, panelWidth, setPanel } from "../shell/panels";
import * as page from "../store";
import { useKey } from "../tensors/useKey";
import { followAddress } from "./addressing";
import { ColourPanel } from "./ColourPanel";
import { followNet } from "./feeds";
import { returnFocus } from "./focusing";
import { ItemPanel } from "./ItemPanel";
import { LayersPanel } from "./LayersPanel";
import { NetStage } from "./NetStage";
import { goToItem, isAwaited, phase, sceneFailure, tryAgain } from "./netstate";
import { NetTimeBar } from "./NetTimeBar";
import { NetTip } from "./NetTip";
import { run, runId } from "./netrun";
import { PictureDialog } from "./PictureDialog";
import { StageBars } from "./StageBars";
import { StageNotes } from "./StageNotes";
import * as store from "./store";
import { UnitPanel } from "./UnitPanel";
import { UnitStrip } from "./UnitStrip";
import { VariablePanel, VariablesAway } from "./VariablePanel";
import { sentence } from "./wording";
import "./netview.css";

export function NetViewPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    // The address first: what it names is what is asked for.
    const stops = [followAddress(), followNet(source)];
    return () => stops.forEach((stop) => stop());
  }, [source]);
  useKey("[", () => goToItem(store.item.peek() - 1));
  useKey("]", () => goToItem(store.item.peek() + 1));
  const { width } = panels.value;
  const { left, right } = panelWidth.value;
  // Without a network there is nothing to analyse, and what is said instead is said by the drawing.
  const isOfItems = isAnalysis.value && phase.value === "shown";
  return (
    <main class={`main netview ${width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }} onClick={returnFocus}>
      <h1 class="sr">NetView</h1>
      <PanelPlace side="left">
        <aside class="panel" aria-label={isOfItems ? "Items and layers" : "Variables and layers"}>
          {width !== "wide" && <HideButton side="left" />}
          {isOfItems ? (
            <div class="panel-body">
              <ChoicePanel />
            </div>
          ) : (
            <>
              <VariablePanel />
              <LayersPanel />
            </>
          )}
        </aside>
      </PanelPlace>
      <div class="net-middle">
        {isOfItems ? <AnalysisStage /> : <Network />}
      </div>
      <PanelPlace side="right">
        <aside class="panel" aria-label={isOfItems ? "Layers compared and unit" : "Colour, unit and item"}>
          {width !== "wide" && <HideButton side="right" />}
          <div class="panel-body">{isOfItems ? <BesideAnalysis /> : hasNet() && <Beside />}</div>
        </aside>
      </PanelPlace>
      <NetTimeBar />
      <PictureDialog />
      {!panels.value.left && <VariablesAway />}
    </main>
  );
}

function Network() {
  return (
    <>
      <section class="canvas netview-stage" aria-label="Network" aria-busy={isReading() || isAwaited.value}>
        <Drawing />
      </section>
      <UnitStrip />
    </>
  );
}

function BesideAnalysis() {
  return (
    <>
      <LikenessPanel />
      <ItemSection />
      <UnitPanel />
      {scope.value === "moments" && <ItemPanel />}
    </>
  );
}

/** Where there is nothing to see, there is nothing to colour. */
function hasNet(): boolean {
  return phase.value === "shown" || isReading();
}

/** Will there be something? Not where the folder has no runs, or not the one that is asked for. */
function isReading(): boolean {
  if (phase.value !== "waiting") return false;
  return runs.listing.value.state === "waiting" || run.value !== null || (runs.runs.value.length > 0 && param("run") === "");
}

function Beside() {
  return (
    <>
      <ColourPanel />
      <UnitPanel />
      <ItemPanel />
    </>
  );
}

function HideButton({ side }: { side: "left" | "right" }) {
  return (
    <button class="btn quiet square hide" aria-label={`Hide the ${side} panel`} onClick={() => setPanel(side, false)}>
      <Icon name="close" />
    </button>
  );
}

function Drawing() {
  switch (phase.value) {
    case "shown":
      return (
        <>
          <NetStage runKey={runId.value} tip={() => <NetTip />} />
          <StageBars />
          <StageNotes />
        </>
      );
    case "failed":
      return (
        <Blank icon="warning" title={`${run.value?.name ?? "The run"} cannot be shown`} isError>
          <span>{sentence(sceneFailure.value)} Another run can be chosen at the top.</span>
          <button class="btn" onClick={tryAgain}>
            Try again
          </button>
        </Blank>
      );
    case "empty":
      return <Nothing />;
    case "waiting":
      return <Waiting />;
  }
}

function Nothing() {
  const name = run.value?.name ?? "first";
  return (
    <Blank icon="only" title="Nothing recorded">
      <span>Record the layers of a model, after every step or now and then; they show up here by themselves:</span>
      <pre>{`view = torcheer.NetView(model, x, run="${folderOf()}${name}")\nview.update()`}</pre>
      <span>A watched training can be seen as well:</span>
      <pre>{`torcheer.watch(model, optimizer=optimizer, run="${folderOf()}${name}")`}</pre>
    </Blank>
  );
}

/** As somebody would type it, from beside the folder. */
function folderOf(): string {
  const last = runs.folder.value.split(/[/\\]/).filter(Boolean).at(-1);
  return last === undefined ? "runs/" : `${last}/`;
}

function Waiting() {
  const listing = runs.listing.value;
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
  if (listing.state === "shown" && runs.runs.value.length === 0) {
    return (
      <Blank icon="search" title="No runs yet">
        <span>Start one from Python; it shows up here by itself.</span>
        <Snippet />
      </Blank>
    );
  }
  if (listing.state === "shown" && param("run") !== "" && run.value === null) {
    return (
      <Blank icon="tree" title="The run of this address is not in the folder">
        <span>It was removed or renamed, or the address is of another folder. Choose another one at the top.</span>
      </Blank>
    );
  }
  return (
    <div class="blank late">
      <b>Reading {run.value?.name ?? "the runs"}</b>
      <div class="bar moving" role="progressbar" aria-label="Reading the network">
        <i />
      </div>
    </div>
  );
}
