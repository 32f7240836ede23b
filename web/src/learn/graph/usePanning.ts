/** Drag the drawing, zoom it with the wheel or two fingers. A press on a card that does not move is a click on it. */
import { useEffect } from "preact/hooks";
import { isHeld, panBy, zoomBy } from "./view";

/** A press that moves less than this is a click. */
const SLACK = 4;

interface Point {
  readonly x: number;
  readonly y: number;
}

export function usePanning(stage: { current: HTMLDivElement | null }): void {
  useEffect(() => {
    const box = stage.current;
    if (box === null) return undefined;
    const pressed = new Map<number, Point>();
    let start: Point | null = null;
    let hasMoved = false;
    const at = (event: MouseEvent): Point => {
      const bounds = box.getBoundingClientRect();
      return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
    };
    const onDown = (event: PointerEvent): void => {
      if (event.button !== 0 && event.button !== 1) return;
      pressed.set(event.pointerId, at(event));
      start = at(event);
      hasMoved = pressed.size > 1;
    };
    const onMove = (event: PointerEvent): void => {
      const [before, now] = [pressed.get(event.pointerId), at(event)];
      if (before === undefined) return;
      if (!hasMoved && start !== null && Math.hypot(now.x - start.x, now.y - start.y) > SLACK) {
        hasMoved = true;
        isHeld.value = true;
        // From here on the drag is followed wherever it goes.
        box.setPointerCapture(event.pointerId);
      }
      if (!hasMoved) return;
      const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) panBy(now.x - before.x, now.y - before.y);
      else zoomBy(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), other);
      pressed.set(event.pointerId, now);
    };
    const onUp = (event: PointerEvent): void => {
      pressed.delete(event.pointerId);
      isHeld.value = false;
    };
    const onClick = (event: MouseEvent): void => {
      if (hasMoved) event.stopPropagation();
      hasMoved = false;
    };
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      if (event.shiftKey && !event.ctrlKey) {
        panBy(-(event.deltaX || event.deltaY) * lines, 0);
        return;
      }
      // Pinching on a touch pad comes as a wheel with Control, in smaller steps.
      const amount = event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016);
      zoomBy(Math.exp(-Math.max(-0.6, Math.min(0.6, amount))), at(event));
    };
    box.addEventListener("pointerdown", onDown);
    box.addEventListener("pointermove", onMove);
    box.addEventListener("pointerup", onUp);
    box.addEventListener("pointercancel", onUp);
    box.addEventListener("click", onClick, true);
    box.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      box.removeEventListener("pointerdown", onDown);
      box.removeEventListener("pointermove", onMove);
      box.removeEventListener("pointerup", onUp);
      box.removeEventListener("pointercancel", onUp);
      box.removeEventListener("click", onClick, true);
      box.removeEventListener("wheel", onWheel);
    };
  }, [stage.current]);
}
