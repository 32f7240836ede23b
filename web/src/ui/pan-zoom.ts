/** The view of a flat drawing: which point of the picture is at its top left, and how large a pixel is. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rect extends Point, Size {}

export interface Camera extends Point {
  readonly scale: number;
}

function clampScale(scale: number): number {
  return Math.min(4, Math.max(0.02, scale));
}

export function toPicture(camera: Camera, x: number, y: number): Point {
  return { x: camera.x + x / camera.scale, y: camera.y + y / camera.scale };
}

export function toScreen(camera: Camera, x: number, y: number): Point {
  return { x: (x - camera.x) * camera.scale, y: (y - camera.y) * camera.scale };
}

export function shownPart(camera: Camera, view: Size): Rect {
  return { x: camera.x, y: camera.y, width: view.width / camera.scale, height: view.height / camera.scale };
}

/** Zoom so that what is under the pointer stays there. */
export function zoomedAt(camera: Camera, x: number, y: number, factor: number): Camera {
  const scale = clampScale(camera.scale * factor);
  const at = toPicture(camera, x, y);
  return { x: at.x - x / scale, y: at.y - y / scale, scale };
}

/** Keep a corner of the picture in view: a drawing that was pushed away is hard to find again. */
export function kept(camera: Camera, picture: Rect, view: Size): Camera {
  const [left, top] = [Math.min(96, view.width / 2) / camera.scale, Math.min(96, view.height / 2) / camera.scale];
  const part = shownPart(camera, view);
  const x = Math.max(picture.x + left - part.width, Math.min(picture.x + picture.width - left, camera.x));
  const y = Math.max(picture.y + top - part.height, Math.min(picture.y + picture.height - top, camera.y));
  return { x, y, scale: camera.scale };
}

export function panned(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale };
}

interface Margin {
  readonly side: number;
  readonly top: number;
  readonly bottom: number;
}

/** A whole part of the picture within the margins, never larger than life. */
export function fitted(part: Rect, view: Size, { side, top, bottom }: Margin): Camera {
  const across = (view.width - 2 * side) / Math.max(1, part.width);
  const down = (view.height - top - bottom) / Math.max(1, part.height);
  const scale = clampScale(Math.min(1, across, down));
  const middle = centred(part, view, scale);
  return { ...middle, y: middle.y - (top - bottom) / 2 / scale };
}

export function centred(part: Rect, view: Size, scale: number): Camera {
  return {
    x: part.x + part.width / 2 - view.width / scale / 2,
    y: part.y + part.height / 2 - view.height / scale / 2,
    scale,
  };
}

/** A press that moves less than this is a click. */
const SLACK = 4;

interface Moves {
  readonly panBy: (dx: number, dy: number) => void;
  readonly zoomBy: (factor: number, at: Point) => void;
  /** While somebody drags, nothing glides. */
  readonly hold: (isHeld: boolean) => void;
}

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
