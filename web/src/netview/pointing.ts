/** What the pointer does on the stage: turn, move, zoom, choose a unit, isolate a layer. */
import { panned, turned, zoomedTo, type ScreenPlace } from "./camera";
import type { Drawing } from "./drawing";
import type { Gliding } from "./gliding";
import * as store from "./store";

/** A press that moves less than this is a click. */
const STILL = 4;
/** The two of a double click: as long after each other, and as far apart, as a system may allow. */
const DOUBLE_MS = 900;
const DOUBLE_PIXELS = 10;

interface Press {
  readonly layer: string | null;
  readonly time: number;
  /** On the page, which stays where it is. */
  readonly at: ScreenPlace;
}

export class Pointing {
  readonly #drawing: () => Drawing | null;
  readonly #gliding: Gliding;
  readonly #onMoved: () => void;
  readonly #pointers = new Map<number, ScreenPlace>();
  #drag: "turn" | "pan" | null = null;
  #start: ScreenPlace = { x: 0, y: 0 };
  #hasMoved = false;
  /** What was under the last two presses, the older one first. */
  #pressed: readonly Press[] = [];

  constructor(drawing: () => Drawing | null, gliding: Gliding, onMoved: () => void) {
    this.#drawing = drawing;
    this.#gliding = gliding;
    this.#onMoved = onMoved;
  }

  down(event: PointerEvent): void {
    const drawing = this.#drawing();
    if (drawing === null || !(event.currentTarget instanceof Element)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = { x: event.offsetX, y: event.offsetY };
    this.#gliding.stop();
    this.#pointers.set(event.pointerId, at);
    this.#start = at;
    const layer = drawing.hitAt(at.x, at.y)?.plate.layer.name ?? null;
    this.#pressed = [...this.#pressed.slice(-1), { layer, time: event.timeStamp, at: onPage(event) }];
    this.#hasMoved = this.#pointers.size > 1;
    const isPan = event.button !== 0 || event.shiftKey || event.ctrlKey || event.metaKey || drawing.camera.isFlat;
    this.#drag = isPan ? "pan" : "turn";
  }

  move(event: PointerEvent): void {
    const drawing = this.#drawing();
    if (drawing === null) return;
    const at = { x: event.offsetX, y: event.offsetY };
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined || this.#drag === null) {
      hover(drawing.unitAt(at.x, at.y));
      return;
    }
    if (this.#pointers.size === 2) {
      this.#pinch(drawing, event.pointerId, before, at);
      return;
    }
    if (!this.#hasMoved && Math.hypot(at.x - this.#start.x, at.y - this.#start.y) < STILL) return;
    this.#pointers.set(event.pointerId, at);
    this.#hasMoved = true;
    hover(null);
    const [byX, byY] = [at.x - before.x, at.y - before.y];
    if (this.#drag === "turn") drawing.look(turned(drawing.camera, byX, byY));
    else drawing.look(panned(drawing.camera, byX, byY, drawing.size));
    this.#onMoved();
  }

  /** Two fingers: what is under them stays under them. */
  #pinch(drawing: Drawing, id: number, before: ScreenPlace, at: ScreenPlace): void {
    const other = [...this.#pointers].find(([one]) => one !== id)?.[1];
    this.#pointers.set(id, at);
    if (other === undefined) return;
    const [was, is] = [distance(before, other), distance(at, other)];
    if (was < 1) return;
    const middle = drawing.placeAt((at.x + other.x) / 2, (at.y + other.y) / 2);
    const next = zoomedTo(drawing.camera, is / was, middle);
    drawing.look(panned(next, (at.x - before.x) / 2, (at.y - before.y) / 2, drawing.size));
    this.#onMoved();
  }

  up(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    if (this.#pointers.size === 0) this.#drag = null;
  }

  click(event: MouseEvent): void {
    const drawing = this.#drawing();
    // The second of two belongs to a double click, and what is below it may have moved.
    if (drawing === null || this.#hasMoved || event.detail === 2) return;
    const at = drawing.unitAt(event.offsetX, event.offsetY);
    store.selected.value = at === null ? null : { layer: at.layer, unit: at.unit };
  }

  /** The drag ended without an end of its own. */
  cancel(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    this.#drag = null;
  }

  /**
   * Anywhere on the page, if it began on the stage: what the first click opens may make the stage smaller,
   * and the second one then falls on another plate or beside the stage.
   */
  doubleClick(event: MouseEvent): void {
    const first = this.#pressed.find(
      ({ time, at }) => event.timeStamp - time < DOUBLE_MS && distance(at, onPage(event)) < DOUBLE_PIXELS,
    );
    this.#pressed = [];
    if (first === undefined || this.#hasMoved) return;
    store.isolated.value = store.isolated.peek() === null ? first.layer : null;
  }

  leave(): void {
    if (this.#drag === null) hover(null);
  }

  wheel(event: WheelEvent): void {
    const drawing = this.#drawing();
    if (drawing === null) return;
    event.preventDefault();
    this.#gliding.stop();
    // Lines and pages are worth so many pixels.
    const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 200;
    const factor = Math.exp(Math.max(-1, Math.min(1, -event.deltaY * unit * 0.002)));
    drawing.look(zoomedTo(drawing.camera, factor, drawing.placeAt(event.offsetX, event.offsetY)));
    this.#onMoved();
  }
}

function hover(place: store.PointedPlace | null): void {
  const before = store.hovered.peek();
  const isSame = before?.layer === place?.layer && before?.unit === place?.unit && before?.moment === place?.moment;
  if (!isSame) store.hovered.value = place;
}

function onPage(event: MouseEvent): ScreenPlace {
  return { x: event.clientX, y: event.clientY };
}

function distance(a: ScreenPlace, b: ScreenPlace): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
