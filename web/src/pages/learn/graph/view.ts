/** Where the drawing is looked at from: it fits, zooms, and follows the step. */
import { batch, computed, signal } from "@preact/signals";
import { type Camera, centred, fitted, kept, panned, type Point, type Rect, type Size, zoomedAt } from "../../../ui/pan-zoom";
import { currentNode, currentTarget, lesson } from "../store";
import { layOut } from "./layout";

export const layout = computed(() => (lesson.value === null ? null : layOut(lesson.value)));

export const camera = signal<Camera>({ x: 0, y: 0, scale: 1 });
export const viewSize = signal<Size>({ width: 0, height: 0 });
/** While somebody drags, nothing glides. */
export const isHeld = signal(false);
/** Did somebody move it? Then it is not fitted again by itself. */
let isByHand = false;

const MARGIN = { side: 16, top: 16, bottom: 16 } as const;
/** What is brought into view keeps this far from the edges. */
const CLEAR = 32;
/** Smaller, nothing can be read: then only a part is shown. */
const READABLE = 0.8;
const PART_SCALE = 0.8;

/** All of it, never larger than life. */
export function fit(): void {
  isByHand = false;
  const bounds = layout.peek()?.bounds;
  if (bounds !== undefined && viewSize.peek().width > 0) camera.value = fitted(bounds, viewSize.peek(), MARGIN);
}

/** What is gone through now; null where it is not in the picture. */
export const currentPart = computed<Rect | null>(() => {
  const ids = [currentTarget.value, currentNode.value?.id ?? null];
  const boxes = ids.flatMap((id) => layout.value?.boxes[id ?? -1] ?? []);
  if (boxes.length === 0) return null;
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
});

/** A new drawing, or a window of another size: all of it where it can be read, else what is gone through now. */
export function begin(isNew: boolean): void {
  if (isNew) isByHand = false;
  const bounds = layout.peek()?.bounds;
  const size = viewSize.peek();
  if (bounds === undefined || size.width === 0 || isByHand) return;
  const [whole, around] = [fitted(bounds, size, MARGIN), currentPart.value];
  camera.value =
    whole.scale >= READABLE || around === null ? whole : kept(centred(around, size, PART_SCALE), bounds, size);
}

export function show(part: Rect): void {
  const size = viewSize.peek();
  if (size.width === 0) return;
  const now = camera.peek();
  const [width, height] = [size.width / now.scale, size.height / now.scale];
  const clear = Math.min(CLEAR, size.width / 8, size.height / 8) / now.scale;
  const x = shifted(now.x, width, part.x, part.width, clear);
  const y = shifted(now.y, height, part.y, part.height, clear);
  if (x !== now.x || y !== now.y) camera.value = { ...now, x, y };
}

function shifted(start: number, length: number, from: number, extent: number, clear: number): number {
  if (from >= start && from + extent <= start + length) return start;
  if (from - clear < start || extent > length - 2 * clear) return from - clear;
  return from + extent + clear - length;
}

export function zoomBy(factor: number, at?: Point): void {
  const size = viewSize.peek();
  const { x, y } = at ?? { x: size.width / 2, y: size.height / 2 };
  move(zoomedAt(camera.peek(), x, y, factor));
}

export function panBy(dx: number, dy: number): void {
  move(panned(camera.peek(), dx, dy));
}

function move(next: Camera): void {
  const bounds = layout.peek()?.bounds;
  batch(() => {
    isByHand = true;
    camera.value = bounds === undefined ? next : kept(next, bounds, viewSize.peek());
  });
}
