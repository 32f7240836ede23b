/** What stands over the drawing: how it is drawn at the left, from where at the right. */
import type { Signal } from "@preact/signals";
import type { ComponentProps, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isRaster } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { cancelFilm, canSave, film, filming, takePicture } from "../../stage3d/network/export";
import { savedCameras, SLOTS, stage, usedCamera } from "../../stage3d/network/stage";
import { Check } from "../../ui/Check";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { Popover } from "../../ui/Picker";
import { Segments } from "../../ui/controls";

const PROJECTIONS = [
  ["3d", "3D"],
  ["2d", "2D"],
] as const;

/** `ModeSwitch`: between the network and its analysis. */
export function StageBars({ ModeSwitch }: { ModeSwitch: ComponentType }) {
  const isFlat = store.isFlat.value;
  return (
    <div class="stage-bars">
      <div class="stage-bar" role="toolbar" aria-label="Drawing">
        <ModeSwitch />
        <Segments
          label="Projection"
          words={PROJECTIONS}
          chosen={isFlat ? "2d" : "3d"}
          choose={(word) => (store.isFlat.value = word === "2d")}
        />
        <Flag of={store.hasRays}>Rays to unit</Flag>
        <Flag of={store.hasHeight} hint={isFlat ? "Only in three dimensions" : undefined} isOff={isFlat}>
          Height
        </Flag>
        <Flag of={store.hasArrows}>Arrows</Flag>
        <Flag of={isRaster} hint="The last moments beside each other: time along one side of each layer">
          Raster
        </Flag>
      </div>
      <CameraBar />
    </div>
  );
}

function Flag({ of, ...rest }: { of: Signal<boolean> } & Omit<ComponentProps<typeof Check>, "isOn" | "set">) {
  return <Check {...rest} isOn={of.value} set={(isOn) => (of.value = isOn)} />;
}

function CameraBar() {
  const control = stage.value;
  const isOff = control === null;
  const free = SLOTS.find((slot) => !savedCameras.value.has(slot)) ?? usedCamera.value ?? 1;
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
      <IconButton
        icon="camera"
        label="Save camera"
        look="btn square"
        title={`Save as camera ${free} (Shift ${free})`}
        disabled={isOff}
        onClick={() => control?.saveCamera(free)}
      />
      <IconButton icon="frame" label="Fit network" look="btn square" title="Fit (0)" disabled={isOff} onClick={() => control?.fit()} />
      <Popover
        label={MORE}
        button={
          <>
            <Icon name="more" />
            <span class="sr">{MORE}</span>
          </>
        }
      >
        <Exports />
      </Popover>
    </div>
  );
}

const MORE = "Picture, video, full screen";

function Exports() {
  const isOff = stage.value === null;
  const now = filming.value;
  const [isFull, toggleFull] = useFullScreen();
  return (
    <div class="stage-menu">
      <button class="btn quiet" disabled={isOff} onClick={() => void takePicture()}>
        {canSave() ? "Save picture (PNG)" : "Show picture (PNG)"}
      </button>
      {now === null ? (
        <button class="btn quiet" disabled={isOff || !canSave()} onClick={() => void film()}>
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

/** Whether it is, and the way to the other; null where the browser allows none, as in a frame of another page. */
function useFullScreen(): [isFull: boolean, toggle: (() => void) | null] {
  const [isFull, setIsFull] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const look = (): void => setIsFull(document.fullscreenElement !== null);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, []);
  const toggle = (): void => {
    const done = isFull ? document.exitFullscreen() : document.querySelector(".netview")?.requestFullscreen();
    // Somebody refused it: then it stays as it is.
    done?.catch(() => undefined);
  };
  return [isFull, document.fullscreenEnabled ? toggle : null];
}
