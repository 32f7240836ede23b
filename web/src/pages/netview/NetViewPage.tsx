/** The network of a run in three dimensions: variables and layers, the drawing, colours and the selected unit, time. */
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isConnected } from "../../data/connection";
import { formatCount, formatNumberOf } from "../../data/format";
import { followNet } from "../../data/network/feeds";
import * as time from "../../data/network/moments";
import { run, runId, step } from "../../data/network/moments";
import { goToItem, isAwaited, numItems, phase, sceneFailure, tryAgain } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { counterText, counterTitle, sentence } from "../../data/network/words";
import { param } from "../../data/route";
import * as runs from "../../data/runs";
import * as page from "../../data/store";
import { Pixels } from "../../ui/Pixels";
import { NetStage } from "../../stage3d/network/NetStage";
import { StageNotes } from "../../stage3d/network/StageNotes";
import { shownPicture } from "../../stage3d/network/export";
import { pageOf, pictureLayer, useItemPicture } from "../../stage3d/network/item-pictures";
import { Blank, Busy, Failed, NoRuns } from "../../ui/Blank";
import type { IconName } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { HidePanel, PanelPlace } from "../../ui/PanelPlace";
import { TimeBar, useKey } from "../../ui/TimeBar";
import { returnFocus } from "../../ui/focus";
import { panels, panelWidth } from "../../ui/panels";
import type { NetLayer } from "../../wire";
import { ColourPanel, LayersPanel, useVariableKey, VariablePanel } from "./SidePanels";
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
  useVariableKey();
  const { width } = panels.value;
  const { left, right } = panelWidth.value;
  // Without a network there is nothing to analyse, and what is said instead is said by the drawing.
  const isOfItems = analysis.isShown.value && phase.value === "shown";
  return (
    <main class={`main netview ${width}`} style={{ "--left": `${left}px`, "--right": `${right}px` }} onClick={returnFocus}>
      <h1 class="sr">NetView</h1>
      <PanelPlace side="left">
        <aside class="panel" aria-label={isOfItems ? "Items and layers" : "Variables and layers"}>
          <HidePanel side="left" label="Hide the left panel" style="hide" />
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
        {isOfItems ? (
          <analysis.Stage />
        ) : (
          <>
            <section class="canvas netview-stage" aria-label="Network" aria-busy={isReading() || isAwaited.value}>
              <Drawing analysis={analysis} />
            </section>
            <UnitStrip />
          </>
        )}
      </div>
      <PanelPlace side="right">
        <aside class="panel" aria-label={isOfItems ? "Layers compared and unit" : "Colour, unit and item"}>
          <HidePanel side="right" label="Hide the right panel" style="hide" />
          <div class="panel-body">
            <Beside analysis={analysis} isOfItems={isOfItems} />
          </div>
        </aside>
      </PanelPlace>
      <NetTimeBar />
      <PictureDialog />
    </main>
  );
}

function Beside({ analysis, isOfItems }: Props & { isOfItems: boolean }) {
  // Where there is nothing to see, there is nothing to colour.
  if (phase.value !== "shown" && !isReading()) return null;
  return (
    <>
      {isOfItems && <analysis.LikenessPanel />}
      {isOfItems ? <analysis.ItemSection /> : <ColourPanel />}
      <UnitPanel />
      {(!isOfItems || analysis.scope.value === "moments") && <ItemPanel />}
    </>
  );
}

/** Will there be something? Not where the folder has no runs, or not the one that is asked for. */
function isReading(): boolean {
  if (phase.value !== "waiting") return false;
  return runs.listing.value.state === "waiting" || run.value !== null || (runs.runs.value.length > 0 && param("run") === "");
}

function Drawing({ analysis }: Props) {
  switch (phase.value) {
    case "shown":
      return (
        <>
          <NetStage runKey={runId.value} />
          <StageBars ModeSwitch={analysis.ModeSwitch} />
          <StageNotes />
        </>
      );
    case "failed":
      return (
        <Failed
          title={`${run.value?.name ?? "The run"} cannot be shown`}
          reason={`${sentence(sceneFailure.value)} Another run can be chosen at the top.`}
          retry={tryAgain}
        />
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
    return <Failed title="The runs cannot be read" reason={listing.reason} retry={runs.retry} />;
  }
  if (listing.state === "shown" && runs.runs.value.length === 0) return <NoRuns />;
  if (listing.state === "shown" && param("run") !== "" && run.value === null) {
    return (
      <Blank icon="tree" title="The run of this address is not in the folder">
        <span>It was removed or renamed, or the address is of another folder. Choose another one at the top.</span>
      </Blank>
    );
  }
  return <Busy title={`Reading ${run.value?.name ?? "the runs"}`} label="Reading the network" />;
}

const showModal = (dialog: HTMLDialogElement | null): void => dialog?.showModal();

/** A picture of the drawing on the page itself, where no file can be saved. */
function PictureDialog() {
  const address = shownPicture.value;
  if (address === "") return null;
  const close = (): void => {
    shownPicture.value = "";
  };
  return (
    <dialog ref={showModal} class="net-picture" aria-labelledby="net-picture-title" onClose={close}>
      <div class="panel-head">
        <h2 id="net-picture-title">Picture of the network</h2>
        <span class="grow" />
        <IconButton icon="close" label="Close" look="btn quiet square" onClick={close} />
      </div>
      <p class="muted fs-2">Files cannot be saved from here. The menu of the picture (right click) copies or saves it.</p>
      <img src={address} alt="The network as it is drawn" />
    </dialog>
  );
}

/** The time bar of the network: its moments, with their counters as text. */
export function NetTimeBar() {
  const moments = time.moments.value;
  if (moments.length === 0) {
    return (
      <div class="timebar net-time" role="toolbar" aria-label="Steps">
        <span class="muted fs-2">{time.list.value !== null && "No moment was recorded yet"}</span>
      </div>
    );
  }
  return (
    <div class="net-time">
      <TimeBar
        moments={moments}
        at={time.at.value}
        numAll={moments.length}
        isFollowing={time.isFollowing.value}
        canFollow={isConnected.value}
        counters={shownCounters()}
        onGo={time.goTo}
        onFollow={time.follow}
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
  const counters = time.countersNow.value.toSorted(([one], [other]) => placeOf(one) - placeOf(other));
  const now = String(step.value ?? "");
  const texts = counters.map(([name, text]) => [counterTitle(name), counterText(text)] as const);
  if (counters.some(([, text]) => text === now)) return texts;
  return [["Step", step.value === null ? "" : formatCount(step.value)], ...texts];
}

const PAGE = 8;
/** Not while somebody scrubs. */
const REST_MS = 250;

/** Which item of the batch is shown: small pictures of the input where it is one, and a slider over all. */
export function ItemPanel() {
  const count = numItems.value;
  const item = store.item.value;
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
        {layer !== null && <Thumbnails key={`${runId.value} ${layer.name}`} layer={layer} items={pageOf(item, count, PAGE)} />}
        <div class="row item-slider">
          <ItemStep icon="left" label="Previous item" mark="[" to={item - 1} isOff={item === 0} />
          <input
            class="grow"
            type="range"
            aria-label="Batch item"
            min={0}
            max={count - 1}
            value={item}
            onInput={(event) => goToItem(Number(event.currentTarget.value))}
          />
          <ItemStep icon="right" label="Next item" mark="]" to={item + 1} isOff={item >= count - 1} />
        </div>
      </div>
    </section>
  );
}

function ItemStep({ icon, label, mark, to, isOff }: { icon: IconName; label: string; mark: string; to: number; isOff: boolean }) {
  const title = `${label} (${mark})`;
  return <IconButton icon={icon} label={label} look="btn square" title={title} disabled={isOff} onClick={() => goToItem(to)} />;
}

function Thumbnails({ layer, items }: { layer: NetLayer; items: readonly number[] }) {
  const now = step.value;
  const [rested, setRested] = useState(now);
  useEffect(() => {
    const timer = setTimeout(() => setRested(now), rested === null ? 0 : REST_MS);
    return () => clearTimeout(timer);
  }, [now]);
  return (
    <div class="items">
      {items.map((item) => (
        <button
          key={item}
          class="item"
          aria-pressed={item === store.item.value}
          aria-label={`item ${item}`}
          onClick={() => goToItem(item)}
        >
          <Thumbnail layer={layer} step={rested} item={item} />
          <span>{formatCount(item)}</span>
        </button>
      ))}
    </div>
  );
}

function Thumbnail(place: { layer: NetLayer; step: number | null; item: number }) {
  const picture = useItemPicture(place.layer, place.step, place.item);
  if (picture === null) return <canvas width={1} height={1} class="px none" aria-hidden="true" />;
  return <Pixels picture={picture} class="px" aria-hidden="true" />;
}
