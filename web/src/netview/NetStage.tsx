/** The network in three dimensions: the drawing, names over it, and what is under the pointer. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { formatNumberOf } from "../format";
import { isForField } from "../shell/keys";
import "./netstage.css";
import { Pointing } from "./pointing";
import { isSeenFlat, stage, usedCamera } from "./stagecontrol";
import { handlePageKey, handleStageKey } from "./stagekeys";
import { StageTip } from "./StageTip";
import * as store from "./store";
import { useStage, type StageHandle } from "./useStage";
import { unitName } from "./wording";

const OPEN = "dialog[open], [popover]:popover-open";
const MENUS = ".popover, .picker:has([aria-expanded=true]), [role=listbox], [role=dialog]";

interface Props {
  /** Cameras are saved under it. */
  runKey: string;
  /** What stands in the tip below the name and the value. */
  tip?: () => ComponentChildren;
  /** Does it share its page with other things? Then it has no tools, and leaves keys to what has the focus. */
  isPart?: boolean;
}

export function NetStage({ runKey, tip, isPart = false }: Props) {
  const handle = useStage(runKey, isPart);
  const { drawing, gliding, box, canvas, overlay, generation } = handle;
  const pointing = useMemo(() => new Pointing(() => drawing.current, gliding, () => (usedCamera.value = null)), []);
  usePageKeys(isPart);
  useEffect(() => {
    const element = overlay.current;
    if (element === null) return undefined;
    // Not through the component: a listener that may prevent scrolling has to say so.
    const onWheel = (event: WheelEvent): void => pointing.wheel(event);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [generation]);
  useEffect(() => {
    const onDoubleClick = (event: MouseEvent): void => pointing.doubleClick(event);
    addEventListener("dblclick", onDoubleClick);
    return () => removeEventListener("dblclick", onDoubleClick);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const isShortcut = event.ctrlKey || event.metaKey || event.altKey;
    if (drawing.current === null || isShortcut || !handleStageKey(drawing.current, event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="net-stage" ref={box}>
      <canvas key={`plates-${generation}`} ref={canvas} data-painter={handle.painterName} />
      <canvas
        key={`above-${generation}`}
        ref={overlay}
        class="above"
        role="img"
        tabIndex={0}
        aria-label={summary()}
        onPointerDown={(event) => pointing.down(event)}
        onPointerMove={(event) => pointing.move(event)}
        onPointerUp={(event) => pointing.up(event)}
        onPointerCancel={(event) => pointing.cancel(event)}
        onPointerLeave={() => pointing.leave()}
        onClick={(event) => pointing.click(event)}
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={onKeyDown}
      />
      <StageTip tip={tip} />
      <Notes handle={handle} />
      <p class="sr" role="status">
        {selectionWords()}
      </p>
    </div>
  );
}

/** What a reader has to know of what is drawn. */
function Notes({ handle }: { handle: StageHandle }) {
  const isPlain = handle.painterName === "canvas";
  return (
    <div class="net-stage-notes" role="status">
      {isPlain && <p>No WebGL in this browser: drawn flat, on a plain canvas.</p>}
      {handle.painterName === "none" && <p>This browser cannot draw.</p>}
      {handle.isLost && (
        <p>
          The graphics card was taken away. It is drawn again when it is back.{" "}
          <button class="link" onClick={handle.restart}>
            Try now
          </button>
        </p>
      )}
    </div>
  );
}

function summary(): string {
  const layers = store.shownLayers.value;
  const numUnits = layers.reduce((sum, layer) => sum + layer.grid.num_units, 0);
  const where = (isSeenFlat.value ? "flat" : "in three dimensions") + (store.raster.value === null ? "" : ", over time");
  const what = `${formatNumberOf(layers.length, "layer")}, ${formatNumberOf(numUnits, "unit")}`;
  return `Network, variable ${store.variable.value}, ${where}: ${what}. Keys w a s d turn it, i j k l go from unit to unit, u and o from layer to layer.`;
}

function selectionWords(): string {
  const place = store.selected.value;
  const layer = store.scene.value?.layers.find(({ name }) => name === place?.layer);
  return place === null || layer === undefined ? "" : `${unitName(layer, place.unit)} selected`;
}

function usePageKeys(isPart: boolean): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isShortcut = event.ctrlKey || event.metaKey || event.altKey;
      if (event.defaultPrevented || isShortcut || isForField(event)) return;
      if (isTaken(event.target) || (isPart && isElsewhere(event.target))) return;
      const control = stage.peek();
      if (control !== null && handlePageKey(control, event)) event.preventDefault();
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, [isPart]);
}

/** A dialog or a menu that is open has the key. */
function isTaken(target: EventTarget | null): boolean {
  return document.querySelector(OPEN) !== null || (target instanceof Element && target.closest(MENUS) !== null);
}

/** Has something else on the page the focus? */
function isElsewhere(target: EventTarget | null): boolean {
  return target !== document.body && target instanceof Element && target.closest(".net-stage") === null;
}
