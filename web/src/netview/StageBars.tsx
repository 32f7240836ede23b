/** What stands over the drawing: how it is drawn at the left, from where at the right. */
import { useEffect, useState } from "preact/hooks";
import { formatNumberOf } from "../format";
import { ModeSwitch } from "../netanalysis/ModeSwitch";
import { Icon } from "../shell/Icon";
import { Popover } from "../shell/Picker";
import { Segments } from "../shell/controls";
import { cancelFilm, canSave, film, filming, takePicture } from "./export";
import { list, moments } from "./moments";
import * as state from "./network-state";
import { isRaster, isSeenFlat, savedCameras, stage, usedCamera } from "./network-state";
import { SLOTS } from "./saved-cameras";
import * as store from "./store";
import { NOT_IN_FILE, NOT_WEIGHTED, sentence, weightVariable } from "./words";

export function StageBars() {
  return (
    <div class="stage-bars">
      <LookBar />
      <CameraBar />
    </div>
  );
}

function LookBar() {
  const { hasHeight } = store.look.value;
  return (
    <div class="stage-bar" role="toolbar" aria-label="Drawing">
      <ModeSwitch />
      {/* Without WebGL there is nothing to choose: the drawing says so. */}
      {stage.value?.isDeep !== false && (
        <Segments
          label="Projection"
          words={[
            ["3d", "3D"],
            ["2d", "2D"],
          ]}
          chosen={store.isFlat.value ? "2d" : "3d"}
          choose={(word) => (store.isFlat.value = word === "2d")}
        />
      )}
      <Check name="Rays to unit" isOn={store.hasRays.value} set={(isOn) => (store.hasRays.value = isOn)} />
      <Check
        name="Height"
        hint={isSeenFlat.value ? "Only in three dimensions" : undefined}
        isOff={isSeenFlat.value}
        isOn={hasHeight}
        set={(isOn) => (store.look.value = { ...store.look.peek(), hasHeight: isOn })}
      />
      <Check name="Arrows" isOn={store.hasArrows.value} set={(isOn) => (store.hasArrows.value = isOn)} />
      <Check
        name="Raster"
        hint="The last moments beside each other: time along one side of each layer"
        isOn={isRaster.value}
        set={(isOn) => (isRaster.value = isOn)}
      />
    </div>
  );
}

interface CheckProps {
  name: string;
  hint?: string | undefined;
  isOff?: boolean;
  isOn: boolean;
  set: (isOn: boolean) => void;
}

function Check({ name, hint, isOff = false, isOn, set }: CheckProps) {
  return (
    <label class="check" title={hint}>
      <input type="checkbox" checked={isOn} disabled={isOff} onChange={(event) => set(event.currentTarget.checked)} />
      {name}
    </label>
  );
}

function CameraBar() {
  const control = stage.value;
  const isOff = control === null;
  return (
    <div class="stage-bar" role="toolbar" aria-label="Camera">
      <span class="muted fs-1 camera-word">Camera</span>
      <div class="group" role="group" aria-label="Camera slots">
        {SLOTS.map((slot) => (
          <button
            key={slot}
            class="btn square"
            aria-label={`Camera ${slot}`}
            aria-pressed={usedCamera.value === slot}
            title={savedCameras.value.has(slot) ? `Use camera ${slot} (${slot})` : `Nothing saved; Shift ${slot} saves`}
            disabled={isOff || !savedCameras.value.has(slot)}
            onClick={() => control?.useCamera(slot)}
          >
            {slot}
          </button>
        ))}
      </div>
      <button
        class="btn square"
        aria-label="Save camera"
        title={`Save as camera ${slotToSave()} (Shift ${slotToSave()})`}
        disabled={isOff}
        onClick={() => control?.saveCamera(slotToSave())}
      >
        <Icon name="camera" />
      </button>
      <button class="btn square" aria-label="Fit network" title="Fit (0)" disabled={isOff} onClick={() => control?.fit()}>
        <Icon name="frame" />
      </button>
      <Popover label="Picture, video, full screen" button={<More />}>
        <Exports />
      </Popover>
    </div>
  );
}

function More() {
  return (
    <>
      <Icon name="more" />
      <span class="sr">Picture, video, full screen</span>
    </>
  );
}

/** The first that is free, or else the one that is used. */
function slotToSave(): 1 | 2 | 3 | 4 {
  const used = SLOTS.find((slot) => slot === usedCamera.value);
  return SLOTS.find((slot) => !savedCameras.value.has(slot)) ?? used ?? 1;
}

function Exports() {
  const control = stage.value;
  const now = filming.value;
  const [isFull, toggleFull] = useFullScreen();
  return (
    <div class="stage-menu">
      <button class="btn quiet" disabled={control === null} onClick={() => void takePicture()}>
        {canSave() ? "Save picture (PNG)" : "Show picture (PNG)"}
      </button>
      {now === null ? (
        <button class="btn quiet" disabled={control === null || !canSave()} onClick={() => void film()}>
          Record video from here (WebM)
        </button>
      ) : (
        <button class="btn quiet" onClick={cancelFilm}>
          Stop the video at {now.done} of {now.of}
        </button>
      )}
      {!canSave() && <p class="muted fs-1">Nothing can be saved from this frame: view.write_html(path) makes a page that can.</p>}
      <button class="btn quiet" disabled={toggleFull === null} onClick={() => toggleFull?.()}>
        {isFull ? "Leave full screen" : "Full screen"}
      </button>
    </div>
  );
}

// --- The page on the whole screen, and back.

/** Whether it is, and the way to the other; null where the browser allows none, as in a frame of another page. */
function useFullScreen(): [isFull: boolean, toggle: (() => void) | null] {
  const [isFull, setIsFull] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const look = (): void => setIsFull(document.fullscreenElement !== null);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, []);
  return [isFull, document.fullscreenEnabled ? () => void toggle() : null];
}

async function toggle(): Promise<void> {
  try {
    if (document.fullscreenElement !== null) await document.exitFullscreen();
    else await document.querySelector(".netview")?.requestFullscreen();
  } catch {
    // Somebody refused it: then it stays as it is.
  }
}

// --- What a reader must know of what is drawn, and why something is not.

const MOST_REASONS = 2;

export function StageNotes() {
  const lines = notes();
  return (
    <div class="stage-notes" role="status">
      {lines.map(({ text, isWarning }) => (
        <p key={text} class={isWarning ? "stage-note warn" : "stage-note"}>
          {isWarning && <Icon name="warning" />}
          {text}
        </p>
      ))}
    </div>
  );
}

interface Note {
  readonly text: string;
  readonly isWarning: boolean;
}

function notes(): Note[] {
  const say = (text: string, isWarning = false): Note[] => (text === "" ? [] : [{ text, isWarning }]);
  const failures = [...say(state.sceneFailure.value, true), ...say(state.valueFailure.value, true)];
  if (moments.value.length === 0) return [...say(unrecorded()), ...failures];
  return [
    ...failures,
    ...say(hiddenWords()),
    ...missing(),
    ...ofWeights(),
    ...say(raster()),
    ...say(filmWords()),
    ...say(state.known.value?.note ?? ""),
  ];
}

function unrecorded(): string {
  // Until the server has said which moments there are, nobody knows that there is none.
  if (list.value === null) return "";
  return list.value.isRunning
    ? "Waiting for the first record: layers are drawn grey until values arrive."
    : "No moment was recorded: the layers have no values.";
}

function hiddenWords(): string {
  return store.shownLayers.value.length === 0 ? "All layers are hidden: “Show all” brings them back." : "";
}

/** Layers that have nothing of this variable are hatched. Those that never have it, as an input has no Net, are no surprise. */
function missing(): Note[] {
  if (state.shownStep.value === null) return [];
  const shown = store.shownLayers.value;
  const found = shown.filter(({ name }) => state.markOf(name)?.kind === "missing");
  if (found.length === 0) return [];
  const isAll = found.length === shown.length;
  const which = found.length === 1 ? found[0]!.name : isAll ? "any layer" : formatNumberOf(found.length, "layer");
  const name = store.variable.value;
  const isWarning = found.some(({ variables }) => variables.includes(name));
  const reasons = new Set(found.map((layer) => store.values.value.get(layer.name)?.why ?? ""));
  const [reason = ""] = reasons;
  // Where all are missing for one reason that says more than that, it is said.
  if (reasons.size === 1 && !reason.includes("was not recorded")) return [{ text: sentence(reason), isWarning }];
  return [{ text: `${name} was not recorded for ${which}: hatched.${isAll ? "" : " Other layers are shown."}`, isWarning }];
}

/** Of weights: there is no unit, or there are none to some of its layers. */
function ofWeights(): Note[] {
  if (weightVariable(store.variable.value) === null) return [];
  if (state.chosenUnit.value === null) return [{ text: "Click a unit to see its weights.", isWarning: false }];
  const missing = state.weightFacts.value?.missing ?? [];
  // A reason may begin with a name, which is written as it is.
  return missing.slice(0, MOST_REASONS).map((why) => {
    const isSentence = why === NOT_WEIGHTED || why.startsWith(NOT_IN_FILE);
    const text = isSentence ? sentence(why) : `Not shown: ${why}.${isUnrecorded(why) ? " " + HOW_TO_RECORD : ""}`;
    return { text, isWarning: why !== NOT_WEIGHTED };
  });
}

const HOW_TO_RECORD = 'NetView(…, weights="all") records all weights.';

/** Would more have been there to see? Gradients and what a watcher keeps are chosen elsewhere. */
function isUnrecorded(why: string): boolean {
  const isOfWeights = weightVariable(store.variable.value)?.name === "Wt" && state.known.value?.source === "netview";
  return isOfWeights && why.endsWith("was not recorded");
}

function filmWords(): string {
  const now = filming.value;
  return now === null ? "" : `A video is recorded: ${now.done} of ${now.of} moments.`;
}

function raster(): string {
  const count = state.notInRaster.value;
  return count === 0 ? "" : `${formatNumberOf(count, "layer")} too large to be shown over time.`;
}
