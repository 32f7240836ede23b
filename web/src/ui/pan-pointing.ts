/** Drag a flat drawing, zoom it with the wheel or with two fingers. A press that does not move is a click. */
import type { Point } from "./pan-zoom";

/** A press that moves less than this is a click. */
const SLACK = 4;

interface Moves {
  readonly panBy: (dx: number, dy: number) => void;
  readonly zoomBy: (factor: number, at: Point) => void;
  /** While somebody drags, nothing glides. */
  readonly hold: (isHeld: boolean) => void;
}

/** Where in an element the pointer is. */
export function placeIn(element: Element, event: MouseEvent): Point {
  const bounds = element.getBoundingClientRect();
  return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
}

/** Until the function that is returned is called. */
export function followPointer(box: HTMLElement, { panBy, zoomBy, hold }: Moves): () => void {
  const pressed = new Map<number, Point>();
  let start: Point | null = null;
  let hasMoved = false;
  const listeners = new AbortController();
  const on = <Type extends keyof HTMLElementEventMap>(
    type: Type,
    handle: (event: HTMLElementEventMap[Type]) => void,
    options: AddEventListenerOptions = {},
  ): void => box.addEventListener(type, handle, { ...options, signal: listeners.signal });
  const release = ({ pointerId }: PointerEvent): void => {
    pressed.delete(pointerId);
    hold(false);
  };
  on("pointerdown", (event) => {
    if (event.button !== 0 && event.button !== 1) return;
    start = placeIn(box, event);
    pressed.set(event.pointerId, start);
    hasMoved = pressed.size > 1;
  });
  on("pointermove", (event) => {
    const [before, now] = [pressed.get(event.pointerId), placeIn(box, event)];
    if (before === undefined) return;
    if (!hasMoved && start !== null && distance(now, start) > SLACK) {
      hasMoved = true;
      // From here on the drag is followed wherever it goes.
      box.setPointerCapture(event.pointerId);
    }
    // Until it counts as a move, the distance adds up, so that the picture stays under the pointer.
    if (!hasMoved) return;
    hold(true);
    const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
    // Of two fingers the other is what the picture is zoomed about.
    if (other === undefined) panBy(now.x - before.x, now.y - before.y);
    else zoomBy(distance(now, other) / Math.max(1, distance(before, other)), other);
    pressed.set(event.pointerId, now);
  });
  on("pointerup", release);
  on("pointercancel", release);
  on(
    "click",
    (event) => {
      if (hasMoved) event.stopImmediatePropagation();
      hasMoved = false;
    },
    { capture: true },
  );
  on(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      if (event.shiftKey && !event.ctrlKey) {
        panBy(-(event.deltaX || event.deltaY) * lines, 0);
        return;
      }
      // Pinching on a touch pad comes as a wheel with Control, in smaller steps.
      const amount = event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016);
      zoomBy(Math.exp(-Math.max(-0.6, Math.min(0.6, amount))), placeIn(box, event));
    },
    { passive: false },
  );
  return () => listeners.abort();
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
