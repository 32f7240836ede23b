/** What is pressed keeps the pointer until it is let go. */

/** Call it where the pointer goes down. `drop` hears where it was let go, or null where that was taken from it. */
export function followDrag(
  { currentTarget: handle, pointerId }: PointerEvent,
  move: (event: PointerEvent) => void,
  drop: (event: PointerEvent | null) => void = () => undefined,
): void {
  if (!(handle instanceof Element)) return;
  const drag = new AbortController();
  const end = (event: PointerEvent | null): void => {
    drag.abort();
    drop(event);
  };
  handle.setPointerCapture(pointerId);
  const on = (type: string, hear: (event: PointerEvent) => void): void =>
    handle.addEventListener(type, (event) => hear(event as PointerEvent), drag);
  on("pointermove", move);
  on("pointerup", end);
  on("pointercancel", () => end(null));
}
