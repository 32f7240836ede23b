/** A drawing on the page: its two canvases, begun anew where the graphics card was lost, with pointer and keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import * as keys from "../ui/keys";
import { followSize } from "../ui/useSize";
import type { OrbitDrawing } from "./orbit-drawing";
import type { Pointing } from "./pointing";
import { followLoss } from "./webgl";

const NO_WEBGL =
  "No WebGL2 in this browser: nothing can be drawn here. Switch on its hardware acceleration, or take another browser.";

export type Orbit<Drawn extends OrbitDrawing> = ReturnType<typeof useOrbit<Drawn>>;

/**
 * `make` throws where nothing can be drawn; `begin` ties what was made to the page, and what it returns ends that.
 * Both happen again for another `key`.
 */
export function useOrbit<Drawn extends OrbitDrawing>(
  make: (canvas: HTMLCanvasElement, overlay: HTMLCanvasElement) => Drawn,
  begin: (drawing: Drawn) => readonly (() => void)[],
  key = "",
) {
  const drawing = useRef<Drawn>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  // A canvas has a key of its own each time that the drawing is begun.
  const [generation, setGeneration] = useState(0);
  const [canDraw, setCanDraw] = useState(true);
  const [isLost, setIsLost] = useState(false);
  const restart = (): void => {
    setIsLost(false);
    setGeneration((now) => now + 1);
  };
  useEffect(() => {
    const [element, above] = [canvas.current, overlay.current];
    if (element === null || above === null) return undefined;
    let made: Drawn;
    try {
      made = make(element, above);
    } catch (reason) {
      console.warn("torcheer: nothing is drawn:", reason);
      setCanDraw(false);
      return undefined;
    }
    drawing.current = made;
    const stops = [
      followPixels(element.parentElement!, made),
      ...begin(made),
      followLoss(element, () => setIsLost(true), restart),
    ];
    return () => {
      for (const stop of stops) stop();
      made.dispose();
      drawing.current = null;
    };
  }, [generation, key]);
  return { drawing, canvas, overlay, generation, canDraw, isLost, restart };
}

function followPixels(box: Element, drawing: OrbitDrawing): () => void {
  const measure = (): void => drawing.resize(box.clientWidth, box.clientHeight);
  const stopFollowing = followSize(box, measure);
  // On another screen pixels may be of another size, and the box is as large as before.
  addEventListener("resize", measure);
  return () => {
    stopFollowing();
    removeEventListener("resize", measure);
  };
}

interface Props<Drawn extends OrbitDrawing> {
  orbit: Orbit<Drawn>;
  pointing: Pointing<Drawn>;
  label: string;
  onClick?: (event: MouseEvent) => void;
  /** A key, while the drawing has the focus. True where it was taken. */
  onKey: (drawing: Drawn, event: KeyboardEvent) => boolean;
}

export function OrbitCanvas<Drawn extends OrbitDrawing>({ orbit, pointing, label, onClick, onKey }: Props<Drawn>) {
  const { drawing, canvas, overlay, generation } = orbit;
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
    if (drawing.current === null || isShortcut || !onKey(drawing.current, event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <canvas key={`drawn-${generation}`} ref={canvas} data-painter={orbit.canDraw ? "WebGL2" : "none"} />
      <canvas
        key={`above-${generation}`}
        ref={overlay}
        class="above"
        role="img"
        tabIndex={0}
        aria-label={label}
        onPointerDown={(event) => pointing.down(event)}
        onPointerMove={(event) => pointing.move(event)}
        onPointerUp={(event) => pointing.up(event)}
        onPointerCancel={(event) => pointing.cancel(event)}
        onPointerLeave={() => pointing.leave()}
        onClick={onClick}
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

/** What a reader has to know of the graphics card. */
export function OrbitNotes({ orbit }: { orbit: Pick<Orbit<OrbitDrawing>, "canDraw" | "isLost" | "restart"> }) {
  return (
    <>
      {!orbit.canDraw && <p>{NO_WEBGL}</p>}
      {orbit.isLost && (
        <p>
          The graphics card was taken away. It is drawn again when it is back.{" "}
          <button class="link" onClick={orbit.restart}>
            Try now
          </button>
        </p>
      )}
    </>
  );
}

const OPEN = "dialog[open], [popover]:popover-open";
const MENUS = ".popover, .picker:has([aria-expanded=true]), [role=listbox], [role=dialog]";

/** Keys that hold anywhere on the page: `handle` says whether it took one. They come before those of the page as a whole. */
export function usePageKeys(handle: (event: KeyboardEvent) => boolean): void {
  keys.usePageKeys((event) => !isTaken(event.target) && handle(event), true);
}

/** A dialog or a menu that is open has the key. */
function isTaken(target: EventTarget | null): boolean {
  return document.querySelector(OPEN) !== null || (target instanceof Element && target.closest(MENUS) !== null);
}

/** The keys that every drawing has: to see all of it, nearer, further away. */
export function handleViewKey(key: string, view: { fit(): void; zoomBy(factor: number): void }): boolean {
  if (key === "0") view.fit();
  else if (key === "+" || key === "=") view.zoomBy(1.25);
  else if (key === "-" || key === "\u2212") view.zoomBy(0.8);
  else return false;
  return true;
}
