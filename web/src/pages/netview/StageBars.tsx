/** What stands over the drawing: how it is drawn at the left, from where at the right. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isRaster } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { cancelFilm, canSave, film, filming, takePicture } from "../../stage3d/network/export";
import { SLOTS } from "../../stage3d/network/saved-cameras";
import { savedCameras, stage, usedCamera } from "../../stage3d/network/stage-control";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Picker";
import { Segments } from "../../ui/controls";

/** Between the network and its analysis. */
interface Props {
  ModeSwitch: ComponentType;
}

export function StageBars({ ModeSwitch }: Props) {
  return (
    <div class="stage-bars">
      <LookBar ModeSwitch={ModeSwitch} />
      <CameraBar />
    </div>
  );
}

function LookBar({ ModeSwitch }: Props) {
  return (
    <div class="stage-bar" role="toolbar" aria-label="Drawing">
      <ModeSwitch />
      <Segments
        label="Projection"
        words={[
          ["3d", "3D"],
          ["2d", "2D"],
        ]}
        chosen={store.isFlat.value ? "2d" : "3d"}
        choose={(word) => (store.isFlat.value = word === "2d")}
      />
      <Check name="Rays to unit" isOn={store.hasRays.value} set={(isOn) => (store.hasRays.value = isOn)} />
      <Check
        name="Height"
        hint={store.isFlat.value ? "Only in three dimensions" : undefined}
        isOff={store.isFlat.value}
        isOn={store.hasHeight.value}
        set={(isOn) => (store.hasHeight.value = isOn)}
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
