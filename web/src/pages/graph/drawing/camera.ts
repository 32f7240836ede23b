/** Where the view of a pass goes: all of it, a box in it, or from one place to another. */
import { type Camera, centred, fitted as fittedWithin, type Rect, shownPart, type Size, toPicture, zoomedAt } from "../../../ui/pan-zoom";
import { camera, scene, viewSize } from "./view-state";

/** Free edges of the view: more at the top, where the controls float. */
const MARGIN = { side: 24, top: 56, bottom: 20 } as const;

/** Show a whole part of the picture, never larger than life. */
export function fitted(part: Rect, view: Size): Camera {
  return fittedWithin(part, view, MARGIN);
}

/** At a smaller scale, small text strains the eye. */
const READABLE = 0.72;

/** At the start: all of it where that can be read, else its top at a size that can, with the first box in the middle. */
export function firstView(part: Rect, view: Size, first?: Rect): Camera {
  const whole = fitted(part, view);
  if (whole.scale >= READABLE) return whole;
  const across = (view.width - 2 * MARGIN.side) / Math.max(1, part.width);
  const scale = Math.min(1, Math.max(READABLE, across));
  const isWide = across < scale;
  return { ...centred(isWide && first !== undefined ? first : part, view, scale), y: part.y - MARGIN.top / scale };
}

/** What is brought into view keeps this far from the edges. */
const CLEAR = { side: 64, top: 64, bottom: 64 } as const;

/** What floats in the corners: the colours above, the meaning of the lines and the map below. */
const FLOATS = { colours: { width: 176, height: 140 }, legend: { width: 176, height: 116 }, map: { width: 144, height: 208 } } as const;

/**
 * Move as little as it takes to bring a box into view, clear of what floats in the corners. What is around it comes to the
 * middle if it fits: where it is new on screen, or was cut off.
 */
export function revealed(camera: Camera, box: Rect, view: Size, around: Rect | null | undefined = null, isNew = false): Camera {
  if (camera.scale < 0.5) return centred(box, view, 0.75);
  const { scale } = camera;
  const part = shownPart(camera, view);
  const side = Math.min(CLEAR.side, view.width / 8) / scale;
  const shift = (rect: Rect): number => shifted(part.x, part.width, rect.x, rect.width, side, side);
  const isWhole = !isNew && around != null && around.x >= part.x && around.x + around.width <= part.x + part.width;
  const canBeWhole = around != null && around.width <= part.width - 2 * side;
  const x = canBeWhole && !isWhole ? centred(around, view, scale).x : shift(box);
  const { top, bottom } = clearAt((box.x - x) * scale, (box.x + box.width - x) * scale, view);
  return { x, y: shifted(part.y, part.height, box.y, box.height, top / scale, bottom / scale), scale };
}

/** How far from the top and the bottom of the view something between two places stands clear of what floats there. */
function clearAt(left: number, right: number, view: Size): { readonly top: number; readonly bottom: number } {
  // In a low window there is no room between them.
  if (view.height < 2 * FLOATS.map.height) return CLEAR;
  const top = left < FLOATS.colours.width ? FLOATS.colours.height : CLEAR.top;
  let bottom: number = left < FLOATS.legend.width ? FLOATS.legend.height : CLEAR.bottom;
  if (right > view.width - FLOATS.map.width) bottom = Math.max(bottom, FLOATS.map.height);
  return { top, bottom };
}

function shifted(start: number, length: number, box: number, boxLength: number, before: number, after: number): number {
  if (boxLength > length - before - after || box < start + before) return box - before;
  return Math.max(start, box + boxLength + after - length);
}

/** Keep the top left of a box where it is on screen although it has moved in the picture. */
export function anchored(camera: Camera, before: Rect, after: Rect): Camera {
  return { ...camera, x: camera.x + after.x - before.x, y: camera.y + after.y - before.y };
}

/** Between two cameras; `share` runs from 0 to 1. The middle of the view moves evenly, sizes by their ratio. */
export function between(from: Camera, to: Camera, view: Size, share: number): Camera {
  const scale = from.scale * (to.scale / from.scale) ** share;
  const middle = (camera: Camera): { x: number; y: number } => toPicture(camera, view.width / 2, view.height / 2);
  const [a, b] = [middle(from), middle(to)];
  const x = a.x + (b.x - a.x) * share;
  const y = a.y + (b.y - a.y) * share;
  return { x: x - view.width / 2 / scale, y: y - view.height / 2 / scale, scale };
}

/** Fast at first, then slower: the curve of all movements of the page. */
export function eased(share: number): number {
  return 1 - (1 - share) ** 3;
}

// --- Move the camera: at once while a hand moves it, in 280 ms when a button or key does.

const DURATION_MS = 280;

let running = 0;

export function jumpTo(next: Camera): void {
  cancelAnimationFrame(running);
  camera.value = next;
}

export function glideTo(next: Camera): void {
  cancelAnimationFrame(running);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    camera.value = next;
    return;
  }
  const from = camera.peek();
  const start = performance.now();
  const step = (now: number): void => {
    const share = Math.min(1, Math.max(0, now - start) / DURATION_MS);
    camera.value = share === 1 ? next : between(from, next, viewSize.peek(), eased(share));
    if (share < 1) running = requestAnimationFrame(step);
  };
  running = requestAnimationFrame(step);
}

export function fit(part: Rect | null = scene.peek()): void {
  if (part !== null) glideTo(fitted(part, viewSize.peek()));
}

export function zoomBy(factor: number): void {
  const { width, height } = viewSize.peek();
  glideTo(zoomedAt(camera.peek(), width / 2, height / 2, factor));
}
