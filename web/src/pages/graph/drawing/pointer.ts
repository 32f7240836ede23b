/** Pan, zoom, hover and click with a mouse, a finger or two. */
import { shownAs } from "../../../data/pass/edges";
import * as store from "../../../data/store";
import { type Camera, centred, kept, panned, toPicture, zoomedAt } from "../../../ui/pan-zoom";
import { SIZES } from "../../../ui/graph-layout/layout-graph";
import { fit, glideTo, jumpTo, zoomBy } from "./camera";
import { type Direction, endOp, neighbour } from "./highlight";
import { camera, isPointerOver, scene, shownEdges, viewSize } from "./view-state";

/** A press that moves less than this is a click. */
const SLACK = 4;

interface Point {
  readonly x: number;
  readonly y: number;
}

export class Pointing {
  private readonly pressed = new Map<number, Point>();
  private start: Point | null = null;
  private hasMoved = false;
  private before: ReadonlySet<string> = new Set();

  constructor(private readonly canvas: HTMLCanvasElement) {
    canvas.addEventListener("pointerdown", this.press);
    canvas.addEventListener("pointermove", this.move);
    canvas.addEventListener("pointerup", this.release);
    canvas.addEventListener("pointercancel", this.release);
    canvas.addEventListener("pointerleave", this.leave);
    canvas.addEventListener("dblclick", this.open);
    canvas.addEventListener("wheel", this.zoom, { passive: false });
  }

  stop(): void {
    this.canvas.removeEventListener("pointerdown", this.press);
    this.canvas.removeEventListener("pointermove", this.move);
    this.canvas.removeEventListener("pointerup", this.release);
    this.canvas.removeEventListener("pointercancel", this.release);
    this.canvas.removeEventListener("pointerleave", this.leave);
    this.canvas.removeEventListener("dblclick", this.open);
    this.canvas.removeEventListener("wheel", this.zoom);
  }

  private place(event: MouseEvent): Point {
    const bounds = this.canvas.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  }

  private readonly press = (event: PointerEvent): void => {
    if (event.button !== 0 && event.button !== 1) return;
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.place(event);
    this.pressed.set(event.pointerId, at);
    this.start = at;
    this.hasMoved = this.pressed.size > 1;
    this.before = store.openGroups.peek();
  };

  private readonly move = (event: PointerEvent): void => {
    const at = this.place(event);
    const before = this.pressed.get(event.pointerId);
    if (before === undefined) {
      this.hover(at);
      return;
    }
    if (this.start !== null && Math.hypot(at.x - this.start.x, at.y - this.start.y) > SLACK) this.hasMoved = true;
    const other = [...this.pressed].find(([id]) => id !== event.pointerId)?.[1];
    if (this.hasMoved) moveTo(other === undefined ? this.dragged(before, at) : pinched(before, at, other));
    // Until it counts as a move, the distance adds up, so that the picture stays under the pointer.
    if (this.hasMoved || other !== undefined) this.pressed.set(event.pointerId, at);
    this.canvas.classList.toggle("dragging", this.hasMoved);
  };

  private dragged(before: Point, at: Point): Camera {
    return panned(camera.peek(), at.x - before.x, at.y - before.y);
  }

  private readonly release = (event: PointerEvent): void => {
    const wasPressed = this.pressed.delete(event.pointerId);
    this.canvas.classList.remove("dragging");
    if (!wasPressed || this.hasMoved || event.type === "pointercancel" || event.button !== 0) return;
    this.click(this.place(event));
  };

  private click(at: Point): void {
    const hit = this.hit(at);
    if (hit?.part === "chevron") store.toggle(hit.key);
    else store.select(hit?.part === "inside" ? null : (hit?.key ?? null));
  }

  private readonly open = (event: MouseEvent): void => {
    const hit = this.hit(this.place(event));
    // The chevron was already pressed twice, and the second press of a click that opened it lands in what opened.
    if (hit === null || hit.part === "chevron" || hit.part === "inside" || this.before !== store.openGroups.peek()) return;
    if (store.hierarchy.peek()?.nodes.get(hit.key)?.kind === "group") store.toggle(hit.key);
  };

  private hover(at: Point): void {
    isPointerOver.value = true;
    const hit = this.hit(at);
    store.hovered.value = hit === null || hit.part === "inside" ? null : hit.key;
    this.canvas.style.cursor = store.hovered.value === null ? "" : "pointer";
  }

  private readonly leave = (): void => {
    isPointerOver.value = false;
    store.hovered.value = null;
  };

  /** What is under a point: a box, or of an open group its chevron, its head or its inside. */
  private hit(at: Point): { readonly key: string; readonly part: "box" | "chevron" | "inside" } | null {
    const all = scene.peek();
    if (all === null) return null;
    const point = toPicture(camera.peek(), at.x, at.y);
    const key = all.at(point.x, point.y, store.showBuffers.peek());
    if (key === null) return null;
    const box = all.boxes.get(key);
    if (box?.isOpen !== true) return { key, part: "box" };
    if (point.y > box.y + SIZES.header) return { key, part: "inside" };
    return { key, part: point.x < box.x + 24 ? "chevron" : "box" };
  }

  private readonly zoom = (event: WheelEvent): void => {
    event.preventDefault();
    const at = this.place(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey && !event.ctrlKey) {
      moveTo(panned(camera.peek(), -(event.deltaX || event.deltaY) * lines, 0));
      return;
    }
    // Pinching on a touch pad comes as a wheel with Control, in smaller steps.
    const strength = event.ctrlKey ? 0.01 : 0.0016;
    const amount = Math.max(-0.6, Math.min(0.6, event.deltaY * lines * strength));
    moveTo(zoomedAt(camera.peek(), at.x, at.y, Math.exp(-amount)));
  };
}

function moveTo(next: Camera): void {
  const all = scene.peek();
  jumpTo(all === null ? next : kept(next, all, viewSize.peek()));
}

/** Two fingers: the picture follows the one that moves, the other is what it turns on. */
function pinched(before: Point, at: Point, other: Point): Camera {
  const [was, is] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(at.x - other.x, at.y - other.y)];
  return zoomedAt(camera.peek(), other.x, other.y, was === 0 ? 1 : is / was);
}

// --- The keys of the drawing, while it has the focus.

const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

const ACTIONS: Record<string, () => void> = {
  "0": () => fit(),
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
  "−": () => zoomBy(0.8),
  Home: () => goToEnd("first"),
  End: () => goToEnd("last"),
  Enter: enter,
};

export function handleKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  const action = arrow === undefined ? ACTIONS[event.key] : () => step(arrow);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function step(direction: Direction): void {
  const [tree, all] = [store.hierarchy.peek(), scene.peek()];
  if (tree === null || all === null) return;
  const key = store.selected.peek();
  if (key === null || !tree.nodes.has(key)) {
    goToEnd(direction === "up" ? "last" : "first");
    return;
  }
  // Backward, the way down the picture is the way against the gradient: the picture stays as it is.
  const shown = shownAs(tree, key, store.openGroups.peek());
  const next = neighbour(direction, shown, all, tree, shownEdges.peek());
  if (next !== null) store.goTo(next);
}

/** The first or last op; where it is inside a closed group, that group. */
function goToEnd(end: "first" | "last"): void {
  const tree = store.hierarchy.peek();
  const key = tree === null ? null : endOp(tree, end);
  if (tree !== null && key !== null) store.goTo(shownAs(tree, key, store.openGroups.peek()));
}

/** Open a closed group and go on with it; look at an op at full size. */
function enter(): void {
  const [tree, key] = [store.hierarchy.peek(), store.selected.peek()];
  if (tree === null || key === null) return;
  const node = tree.nodes.get(key);
  if (node?.kind === "group") {
    store.toggle(key);
    store.reveal.value = { key };
    return;
  }
  const box = scene.peek()?.boxes.get(shownAs(tree, key, store.openGroups.peek()));
  if (box !== undefined) glideTo(centred(box, viewSize.peek(), 1));
}
