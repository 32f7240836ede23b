/** The network of a run in three dimensions: variables and layers, the drawing, colours and the selected unit, time. */
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isConnected } from "../../data/connection";
import { formatCount, formatNumberOf } from "../../data/format";
import { followNet } from "../../data/network/feeds";
import {
  at,
  countersNow,
  follow,
  goTo,
  isFollowing,
  list as known,
  moments,
  rank,
  run,
  runId,
  step,
} from "../../data/network/moments";
import { goToItem, isAwaited, numItems, phase, sceneFailure, tryAgain } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { counterText, counterTitle, sentence } from "../../data/network/words";
import { param } from "../../data/route";
import * as runs from "../../data/runs";
import * as page from "../../data/store";
import { NetStage } from "../../stage3d/network/NetStage";
import { NetTip } from "../../stage3d/network/NetTip";
import { StageNotes } from "../../stage3d/network/StageNotes";
import { shownPicture } from "../../stage3d/network/export";
import { askPicture, pageOf, paintThumbnail, pictureLayer } from "../../stage3d/network/item-pictures";
import { Blank } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { PanelPlace } from "../../ui/PanelPlace";
import { Snippet } from "../../ui/Snippet";
import { TimeBar, useKey } from "../../ui/TimeBar";
import { readPalette } from "../../ui/colour-scale";
import { returnFocus } from "../../ui/focus";
import { panels, panelWidth, setPanel } from "../../ui/panels";
import type { NetLayer } from "../../wire";
import { ColourPanel, LayersPanel, VariablePanel, VariablesAway } from "./SidePanels";
import { StageBars } from "./StageBars";
import { UnitPanel } from "./UnitPanel";
import { UnitStrip } from "./UnitStrip";
import { followAddress } from "./address";
import "../../stage3d/network/netview.css";

/** What the layers make of the items, in the place of the network. */
export interface Analysis {
  readonly isShown: ReadonlySignal<boolean>;
  /** What the items are: those of a batch, moments, or both. */
  readonly scope: ReadonlySignal<string>;
  /** Between the network and its analysis. */
  readonly ModeSwitch: ComponentType;
  readonly Stage: ComponentType;
  /** At the left: which items are taken, and how they are compared. */
  readonly ChoicePanel: ComponentType;
  /** At the right: layers beside each other, and the item that is looked at. */
  readonly LikenessPanel: ComponentType;
  readonly ItemSection: ComponentType;
}

interface Props {
  analysis: Analysis;
}

export function NetViewPage({ analysis }: Props) {
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
  const isOfItems = analysis.isShown.value && phase.value === "shown";
  return (
    <main class={`main netview ${width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }} onClick={returnFocus}>
      <h1 class="sr">NetView</h1>
      <PanelPlace side="left">
        <aside class="panel" aria-label={isOfItems ? "Items and layers" : "Variables and layers"}>
          {width !== "wide" && <HideButton side="left" />}
          {isOfItems ? (
            <div class="panel-body">
              <analysis.ChoicePanel />
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
        {isOfItems ? <analysis.Stage /> : <Network analysis={analysis} />}
      </div>
      <PanelPlace side="right">
        <aside class="panel" aria-label={isOfItems ? "Layers compared and unit" : "Colour, unit and item"}>
          {width !== "wide" && <HideButton side="right" />}
          <div class="panel-body">{isOfItems ? <BesideAnalysis analysis={analysis} /> : hasNet() && <Beside />}</div>
        </aside>
      </PanelPlace>
      <NetTimeBar />
      <PictureDialog />
      {!panels.value.left && <VariablesAway />}
    </main>
  );
}

function Network({ analysis }: Props) {
  return (
    <>
      <section class="canvas netview-stage" aria-label="Network" aria-busy={isReading() || isAwaited.value}>
        <Drawing analysis={analysis} />
      </section>
      <UnitStrip />
    </>
  );
}

function BesideAnalysis({ analysis }: Props) {
  return (
    <>
      <analysis.LikenessPanel />
      <analysis.ItemSection />
      <UnitPanel />
      {analysis.scope.value === "moments" && <ItemPanel />}
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

function Drawing({ analysis }: Props) {
  switch (phase.value) {
    case "shown":
      return (
        <>
          <NetStage runKey={runId.value} tip={() => <NetTip />} />
          <StageBars ModeSwitch={analysis.ModeSwitch} />
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

// --- A picture of the drawing on the page itself, where no file can be saved.

function PictureDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const address = shownPicture.value;
  useLayoutEffect(() => {
    if (address !== "") dialog.current?.showModal();
  }, [address]);
  if (address === "") return null;
  const close = (): void => {
    shownPicture.value = "";
  };
  return (
    <dialog ref={dialog} class="net-picture" aria-labelledby="net-picture-title" onClose={close}>
      <div class="panel-head">
        <h2 id="net-picture-title">Picture of the network</h2>
        <span class="grow" />
        <button class="btn quiet square" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <p class="muted fs-2">Files cannot be saved from here. The menu of the picture (right click) copies or saves it.</p>
      <img src={address} alt="The network as it is drawn" />
    </dialog>
  );
}

// --- The time bar of the network: its moments, with their counters as text.

export function NetTimeBar() {
  const list = moments.value;
  if (list.length === 0) {
    return (
      <div class="timebar net-time" role="toolbar" aria-label="Steps">
        <span class="muted fs-2">{known.value !== null && "No moment was recorded yet"}</span>
      </div>
    );
  }
  return (
    <div class="net-time">
      <TimeBar
        moments={list}
        at={at.value}
        numAll={list.length}
        isFollowing={isFollowing.value}
        canFollow={isConnected.value}
        counters={shownCounters()}
        onGo={goTo}
        onFollow={follow}
      />
    </div>
  );
}

/** From the slowest to the fastest, then what is nobody's count, such as a name. */
const ORDER = ["run", "epoch", "trial"];

function placeOf(counter: string): number {
  const place = ORDER.indexOf(counter);
  return counter === "name" ? ORDER.length + 1 : place < 0 ? ORDER.length : place;
}

/** The step stands among them, unless a counter says it already. */
function shownCounters(): readonly (readonly [string, string])[] {
  const counters = [...countersNow.value].sort(([one], [other]) => placeOf(one) - placeOf(other));
  const now = String(step.value ?? "");
  const texts = counters.map(([name, text]) => [counterTitle(name), counterText(text)] as const);
  if (counters.some(([, text]) => text === now)) return texts;
  return [["Step", step.value === null ? "" : formatCount(step.value)], ...texts];
}

// --- Which item of the batch is shown: small pictures of the input where it is one, and a slider over all.

const PAGE = 8;
/** Not while somebody scrubs. */
const REST_MS = 250;

export function ItemPanel() {
  const count = numItems.value;
  const item = store.item.value;
  const go = goToItem;
  if (count < 2) return null;
  const layer = pictureLayer(store.scene.value?.layers ?? []);
  return (
    <section class="net-items rule-t" aria-label="Batch item">
      <div class="panel-head">
        <h2>Batch item</h2>
        <span class="grow" />
        <span class="muted fs-1">
          item {formatCount(item)} · {formatNumberOf(count, "item")}
        </span>
      </div>
      <div class="pad">
        {layer !== null && (
          <div class="items">
            {pageOf(item, count, PAGE).map((one) => (
              <button
                key={one}
                class="item"
                aria-pressed={one === item}
                aria-label={`item ${one}`}
                onClick={() => go(one)}
              >
                <Thumbnail layer={layer} item={one} />
                <span>{formatCount(one)}</span>
              </button>
            ))}
          </div>
        )}
        <div class="row item-slider">
          <button class="btn square" aria-label="Previous item" title="Previous item ([)" disabled={item === 0} onClick={() => go(item - 1)}>
            <Icon name="left" />
          </button>
          <input
            class="grow"
            type="range"
            aria-label="Batch item"
            min={0}
            max={count - 1}
            value={item}
            onInput={(event) => go(Number(event.currentTarget.value))}
          />
          <button
            class="btn square"
            aria-label="Next item"
            title="Next item (])"
            disabled={item >= count - 1}
            onClick={() => go(item + 1)}
          >
            <Icon name="right" />
          </button>
        </div>
      </div>
    </section>
  );
}

/** The picture of the moment before stays until the next has come. */
function Thumbnail({ layer, item }: { layer: NetLayer; item: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const block = useBlock(layer, item);
  const tick = page.themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (canvas.current === null || context == null || block === null) return;
    const { width, height, pixels } = paintThumbnail(layer.grid, block, readPalette("seq"));
    canvas.current.width = width;
    canvas.current.height = height;
    context.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [block, tick]);
  return <canvas ref={canvas} width={1} height={1} class={block === null ? "px none" : "px"} aria-hidden="true" />;
}

function useBlock(layer: NetLayer, item: number): store.PlateValues | null {
  const [block, setBlock] = useState<store.PlateValues | null>(null);
  const [source, run, itsRank, now] = [page.source.value, runId.value, rank.value, step.value];
  const isFirst = useRef(true);
  useEffect(() => setBlock(null), [run, layer.name]);
  useEffect(() => {
    if (source === null || now === null) return undefined;
    let isWanted = true;
    const ask = (): void => {
      askPicture(source, { runId: run, rank: itsRank, step: now, item, layer }).then(
        (found) => {
          if (isWanted) setBlock(found);
        },
        () => undefined, // the number alone says which item it is
      );
    };
    const timer = setTimeout(ask, isFirst.current ? 0 : REST_MS);
    isFirst.current = false;
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [source, run, itsRank, now, item, layer.name]);
  return block;
}
