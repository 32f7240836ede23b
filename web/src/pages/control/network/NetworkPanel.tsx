/** The network of the run that is written now, in three dimensions, at its newest moment. */
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { groupBy } from "../../../data/collections";
import { control } from "../../../data/control";
import { formatCount } from "../../../data/format";
import { followNet } from "../../../data/network/feeds";
import { countersNow, givenRun, runId, step } from "../../../data/network/moments";
import * as net from "../../../data/network/network-state";
import * as view from "../../../data/network/store";
import { look } from "../../../data/network/value-ranges";
import { counterText, sentence } from "../../../data/network/words";
import { recall, remember } from "../../../data/remembered";
import { addressOf } from "../../../data/route";
import type { Source } from "../../../data/source";
import * as page from "../../../data/store";
import { NetStage } from "../../../stage3d/network/NetStage";
import { StageNotes } from "../../../stage3d/network/StageNotes";
import { cssRamp } from "../../../stage3d/network/colours";
import { Blank, Busy, Failed } from "../../../ui/Blank";
import { Stepper } from "../../../ui/Stepper";
import { useKey } from "../../../ui/TimeBar";
import { ScaleLine } from "../../../ui/controls";
import { whyNoNetwork } from "../commands";
import "../../../stage3d/network/netview.css";
import "./network.css";

export function NetworkPanel() {
  const source = page.source.value;
  useEffect(() => (source === null ? undefined : followNetwork(source)), [source]);
  useKey("[", () => net.goToItem(view.item.peek() - 1));
  useKey("]", () => net.goToItem(view.item.peek() + 1));
  const shown = view.variable.value;
  return (
    <section class="panel control-network" aria-label="Network" aria-busy={isReading() || net.isAwaited.value}>
      <div class="panel-head">
        <h2>Network</h2>
        {hasNetwork.value && <VariableSelect />}
        <span class="grow" />
        {hasNetwork.value && (
          <a class="btn quiet sm" href={addressOf("netview", { run: runId.value, var: shown === FIRST_VARIABLE ? null : shown })}>
            Open NetView
          </a>
        )}
      </div>
      <div class="control-stage">
        <Drawing />
      </div>
      {hasNetwork.value && <MomentLine />}
    </section>
  );
}

function isReading(): boolean {
  return runId.value !== "" && !net.isKnown.value && net.sceneFailure.value === "";
}

function Drawing() {
  if (hasNetwork.value) {
    return (
      <>
        {/* One camera for all runs of a training. */}
        <NetStage runKey={`control ${trainingName.value}`} isPart />
        <StageNotes />
      </>
    );
  }
  if (net.sceneFailure.value !== "") {
    return <Failed title="The network cannot be shown" reason={sentence(net.sceneFailure.value)} retry={net.tryAgain} />;
  }
  if (isReading()) return <Busy title="Reading the network" />;
  const isYet = whyNoNetwork.value === "";
  const reason = runId.value === "" ? "Init builds it, and it shows up here." : "Nothing was recorded of it in this run.";
  return (
    <Blank icon="only" title={isYet ? "No network yet" : "No network"}>
      <span>{isYet ? reason : sentence(whyNoNetwork.value)}</span>
    </Blank>
  );
}

/** Which variable of the units the network shows. */
function VariableSelect() {
  const field = useRef<HTMLSelectElement>(null);
  useKey("v", () => field.current?.focus());
  const all = view.variables.value;
  const chosen = all.find(({ name }) => name === view.variable.value);
  return (
    <select
      ref={field}
      class="input sm"
      aria-label="Variable"
      title={chosen?.about}
      value={view.variable.value}
      onChange={(event) => chooseVariable(event.currentTarget.value)}
    >
      {[...groupBy(all, ({ group }) => group)].map(([group, variables]) => (
        <optgroup key={group} label={group}>
          {variables.map(({ name, about }) => (
            <option key={name} value={name} title={about}>
              {name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

/** Under the network: of which moment it is, which item of the batch, and what the colours stand for. */
function MomentLine() {
  const { min, max, map } = look.value;
  return (
    <div class={`moment-line fs-1 muted${net.numItems.value > 1 ? " batch" : ""}`}>
      <span class="clip" title={momentWords(true)}>
        {momentWords(false)}
      </span>
      <span class="grow" />
      {net.numItems.value > 1 && <ItemSteps />}
      <ScaleLine style="moment-scale" low={min} high={max}>
        {/* The colours are those of the theme: with another one they are read anew. */}
        <i key={page.themeTick.value} style={{ background: `linear-gradient(to right, ${cssRamp(map)})` }} />
      </ScaleLine>
    </div>
  );
}

/** From the slowest to the fastest, then what is nobody's count. */
const ORDER = ["run", "epoch", "trial"];

/** A moment that is not named is one of the training. */
const USUAL = "train";

/** `epoch 3 · trial 12 · test`, and the run where it is another than is written now, or where all is wanted. */
function momentWords(isFull: boolean): string {
  const now = step.value;
  if (now === null) return "";
  const texts = new Map(countersNow.value);
  if (!isFull && texts.get("run") === String(runNumber.value)) texts.delete("run");
  const counts = ORDER.flatMap((name) => (texts.has(name) ? [`${name} ${counterText(texts.get(name)!)}`] : []));
  const rest = [...texts].filter(([name, text]) => !ORDER.includes(name) && (isFull || text !== USUAL)).map(([, text]) => text);
  return (counts.length === 0 ? [`step ${formatCount(now)}`, ...rest] : [...counts, ...rest]).join(" · ");
}

function ItemSteps() {
  const [at, count] = [view.item.value, net.numItems.value];
  return (
    <Stepper
      style="moment-items"
      buttonStyle="quiet"
      label="Item of the batch"
      title={`Item ${at} of ${count} in the batch`}
      thing="Item"
      keys={["[", "]"]}
      hasBefore={at > 0}
      hasAfter={at < count - 1}
      step={(by) => net.goToItem(at + by)}
    >
      <span>
        {formatCount(at)} / {formatCount(count)}
      </span>
    </Stepper>
  );
}

// --- Let the network follow the run that is written now, and keep how somebody looks at it.

const MEMORY = "control-variable";
const FIRST_VARIABLE = "Act";

/** What somebody wants to see: a run that has just begun may not have it yet. */
const wanted = signal(recall(MEMORY) ?? FIRST_VARIABLE);

export function chooseVariable(name: string): void {
  wanted.value = name;
  view.variable.value = name;
  remember(MEMORY, name);
}

/** They change seldom: what hangs on them is not made anew with every trial. */
const followedRunId = computed(() => control.value?.run_id ?? "");
const controlId = computed(() => control.value?.listing.id ?? "");
const trainingName = computed(() => control.value?.listing.name ?? "");
const runNumber = computed(() => control.value?.listing.counters.run ?? null);

/** What was drawn of the run before stays until there is something of the next. */
export const hasNetwork = computed(() => (view.scene.value?.layers.length ?? 0) > 0);

export function followNetwork(source: Source): () => void {
  startView();
  const followRun = (): unknown => (givenRun.value = followedRunId.value);
  const stops = [effect(forgetOthers), effect(() => void followRun()), followNet(source), effect(keepVariable)];
  return () => {
    for (const stop of stops) stop();
    givenRun.value = null;
  };
}

/** As the page NetView is without anything in its address. */
function startView(): void {
  batch(() => {
    view.variable.value = wanted.peek();
    view.item.value = 0;
    view.isFlat.value = false;
    view.isolated.value = null;
    view.hidden.value = new Set();
    view.selected.value = null;
    view.hovered.value = null;
    view.hasRays.value = true;
    view.hasArrows.value = true;
    view.hasHeight.value = true;
    view.fading.value = 0;
    net.isRaster.value = false;
  });
}

/** What was seen of another training, or on the page NetView, is not of this one. */
function forgetOthers(): void {
  const id = controlId.value;
  untracked(() => {
    const ids = id === "" ? [] : (control.peek()?.all_run_ids ?? []);
    if (!ids.includes(net.known.peek()?.runId ?? "")) batch(net.forget);
  });
}

function keepVariable(): void {
  const names = view.variables.value.map(({ name }) => name);
  if (names.includes(wanted.value)) view.variable.value = wanted.value;
}
