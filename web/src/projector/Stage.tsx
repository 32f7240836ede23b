/** The drawing of the points, and what floats over it. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare } from "../format";
import { Blank } from "../shell/Blank";
import { isForField } from "../shell/keys";
import { turned } from "./camera";
import { Pointing, type Shape } from "./pointing";
import { ReductionNote } from "./ReductionNote";
import { StageBar } from "./StageBar";
import { handlePageKey, handleStageKey } from "./stagekeys";
import * as store from "./store";
import { useCloud, type CloudHandle } from "./useCloud";

export function Stage() {
  const handle = useCloud();
  const { cloud, canvas, overlay, generation } = handle;
  const [shape, setShape] = useState<Shape>("box");
  const [isTurning, setIsTurning] = useState(false);
  const latestShape = useRef(shape);
  latestShape.current = shape;
  const pointing = useMemo(() => new Pointing(() => cloud.current, () => latestShape.current), []);
  usePageKeys(handle);
  useTurning(handle, isTurning && store.dims.value === 3);
  useEffect(() => {
    const element = overlay.current;
    if (element === null) return undefined;
    // Not through the component: a listener that may prevent scrolling has to say so.
    const onWheel = (event: WheelEvent): void => pointing.wheel(event);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [generation]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const isShortcut = event.ctrlKey || event.metaKey || event.altKey;
    if (cloud.current === null || isShortcut || !handleStageKey(cloud.current, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="cloud">
      <canvas key={`points-${generation}`} ref={canvas} data-painter={handle.painterName} />
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
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={onKeyDown}
      />
      <StageBar
        cloud={cloud}
        shape={shape}
        onShape={setShape}
        isTurning={isTurning}
        onTurning={setIsTurning}
      />
      <Notes handle={handle} />
      <ReductionNote />
      <p class="sr" role="status">
        {store.hovered.value !== null ? store.labelOf(store.hovered.value) : ""}
      </p>
      {store.loaded.value === null && <FirstLoading />}
    </div>
  );
}

function FirstLoading() {
  const now = store.loading.value;
  if (now.state === "failed")
    return (
      <div class="fill">
        <Blank icon="broken" title={`${now.what} cannot be shown`} isError>
          <span>{now.reason}</span>
          <span>Other embeddings and steps can be chosen.</span>
        </Blank>
      </div>
    );
  return (
    <div class="fill blank late" aria-busy="true">
      <div class="bar moving">
        <i />
      </div>
      <span>Loading the points</span>
    </div>
  );
}

/** What a reader has to know of what is drawn. */
function Notes({ handle }: { handle: CloudHandle }) {
  const here = store.loaded.value;
  const notes: string[] = [];
  if (handle.painterName === "canvas") notes.push("No WebGL in this browser: drawn on a plain canvas, more slowly.");
  if (handle.painterName === "none") notes.push("This browser cannot draw; the points are in the table.");
  if (handle.spriteNote !== "") notes.push(handle.spriteNote);
  if (here !== null && here.embedding.note !== "") notes.push(here.embedding.note);
  if (here !== null && here.embedding.numBad > 0)
    notes.push(`${formatNumberOf(here.embedding.numBad, "point")} with NaN or infinity: not drawn.`);
  const failure = store.loading.value;
  if (here !== null && failure.state === "failed") notes.push(`${failure.what}: ${failure.reason}`);
  return (
    <div class="cloud-notes" role="status">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
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
  const here = store.loaded.value;
  if (here === null) return "No points yet";
  const found = store.coordinates.value;
  const share = (found?.shares ?? []).filter((_, axis) => store.axes.value.includes(axis));
  const how = store.METHODS.find(([name]) => name === found?.method)?.[1] ?? "";
  const variance =
    share.length > 0 ? `, ${formatShare(share.reduce((sum, one) => sum + one, 0), 1)} of the variance` : "";
  const points = formatNumberOf(store.shown.value.length, "point");
  const all = here.embedding.numPoints;
  const part = store.shown.value.length < all ? ` of ${formatCount(all)}` : "";
  const chosen = store.selected.value.length > 0 ? `, ${formatCount(store.selected.value.length)} selected` : "";
  return `${points}${part} of ${here.place.name}${here.step === null ? "" : ` at step ${here.step}`}, ${how} in ${store.dims.value} dimensions${variance}${chosen}. Arrow keys go from point to point.`;
}

function usePageKeys({ cloud }: CloudHandle): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isShortcut = event.ctrlKey || event.metaKey || event.altKey;
      if (event.defaultPrevented || isShortcut || isForField(event)) return;
      // A dialog that is open has the key.
      if (document.querySelector("dialog[open]") !== null) return;
      if (handlePageKey(cloud.current, event.key)) event.preventDefault();
    };
    // Before the keys of the page as a whole: 0 is also that of the graph.
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, []);
}

/** Slowly around, while somebody wants it. */
function useTurning({ cloud }: CloudHandle, isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return undefined;
    let frame = 0;
    let last = performance.now();
    const turn = (now: number): void => {
      const made = cloud.current;
      if (made !== null) made.look(turned(made.camera, Math.min(100, now - last) * 0.03, 0));
      last = now;
      frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
    return () => cancelAnimationFrame(frame);
  }, [isOn]);
}
