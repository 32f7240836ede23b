/** Pan, zoom, hover and click with a mouse, a finger or two. */
import * as store from "../../../data/store";
import { type Camera, centred, followPointer, kept, panned, placeIn, type Point, toPicture, zoomedAt } from "../../../ui/pan-zoom";
import { SIZES } from "../../../ui/graph-layout/layout-graph";
import { fit, glideTo, jumpTo, zoomBy } from "./camera";
import { type Direction, endOp, neighbour } from "./highlight";
import { camera, isPointerOver, scene, viewSize } from "./view-state";

export function followMouse(canvas: HTMLCanvasElement): () => void {
  const stop = followPointer(canvas, {
    panBy: (dx, dy) => moveTo(panned(camera.peek(), dx, dy)),
    zoomBy: (factor, at) => moveTo(zoomedAt(camera.peek(), at.x, at.y, factor)),
    hold: (isHeld) => canvas.classList.toggle("dragging", isHeld),
  });
  const under = (event: MouseEvent): Hit | null => hitAt(placeIn(canvas, event));
  let before = store.openGroups.peek();
  canvas.onpointerdown = () => (before = store.openGroups.peek());
  canvas.onpointermove = (event) => {
    if (event.buttons !== 0) return;
    isPointerOver.value = true;
    const hit = under(event);
    store.hovered.value = hit === null || hit.part === "inside" ? null : hit.key;
    canvas.style.cursor = store.hovered.value === null ? "" : "pointer";
  };
  canvas.onpointerleave = () => {
    isPointerOver.value = false;
    store.hovered.value = null;
  };
  canvas.onclick = (event) => {
    const hit = under(event);
    if (hit?.part === "chevron") store.toggle(hit.key);
    else store.select(hit?.part === "inside" ? null : (hit?.key ?? null));
  };
  canvas.ondblclick = (event) => {
    const hit = under(event);
    // The chevron was already pressed twice, and the second press of a click that opened it lands in what opened.
    if (hit === null || hit.part === "chevron" || hit.part === "inside" || before !== store.openGroups.peek()) return;
    if (store.hierarchy.peek()?.nodes.get(hit.key)?.kind === "group") store.toggle(hit.key);
  };
  return stop;
}

/** A box, or of an open group its chevron, its head or its inside. */
interface Hit {
  readonly key: string;
  readonly part: "box" | "chevron" | "inside";
}

function hitAt(at: Point): Hit | null {
  const point = toPicture(camera.peek(), at.x, at.y);
  const key = scene.peek()?.at(point.x, point.y, store.showBuffers.peek()) ?? null;
  if (key === null) return null;
  const box = scene.peek()?.boxes.get(key);
  if (box?.isOpen !== true) return { key, part: "box" };
  if (point.y > box.y + SIZES.header) return { key, part: "inside" };
  return { key, part: point.x < box.x + 24 ? "chevron" : "box" };
}

function moveTo(next: Camera): void {
  const all = scene.peek();
  jumpTo(all === null ? next : kept(next, all, viewSize.peek()));
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  ArrowUp: () => step("up"),
  ArrowDown: () => step("down"),
  ArrowLeft: () => step("left"),
  ArrowRight: () => step("right"),
  "0": () => fit(),
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
  "−": () => zoomBy(0.8),
  Home: () => goToEnd("first"),
  End: () => goToEnd("last"),
  Enter: enter,
};

/** The keys of the drawing, while it has the focus. */
export function handleKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = ACTIONS[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function step(direction: Direction): void {
  const [all, key] = [scene.peek(), store.selected.peek()];
  const from = key === null ? undefined : all?.boxFor(key);
  if (all === null) return;
  if (from === undefined) {
    goToEnd(direction === "up" ? "last" : "first");
    return;
  }
  // Backward, the way down the picture is the way against the gradient: the picture stays as it is.
  const next = neighbour(direction, from.key, all);
  if (next !== null) store.goTo(next);
}

/** The first or last op; where it is inside a closed group, that group. */
function goToEnd(end: "first" | "last"): void {
  const all = scene.peek();
  const box = all?.boxFor(endOp(all.hierarchy, end) ?? "");
  if (box !== undefined) store.goTo(box.key);
}

/** Open a closed group and go on with it; look at an op at full size. */
function enter(): void {
  const key = store.selected.peek();
  if (key === null) return;
  if (store.hierarchy.peek()?.nodes.get(key)?.kind === "group") {
    store.toggle(key);
    store.reveal.value = { key };
    return;
  }
  const box = scene.peek()?.boxFor(key);
  if (box !== undefined) glideTo(centred(box, viewSize.peek(), 1));
}
