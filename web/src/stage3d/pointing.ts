/** What the pointer does on a drawing: turn, move and zoom the camera, and what a drawing adds of its own. */
import { panned, type ScreenPlace, turned, zoomedTo } from "./camera";
import type { OrbitDrawing } from "./orbit-drawing";

/** A press that moves less than this is a click. */
const STILL = 4;

export abstract class Pointing<Drawn extends OrbitDrawing> {
  protected readonly drawing: () => Drawn | null;
  /** `own`: as the drawing has it. */
  protected drag: "turn" | "pan" | "own" | null = null;
  protected start: ScreenPlace = { x: 0, y: 0 };
  protected hasMoved = false;
  readonly #pointers = new Map<number, ScreenPlace>();

  constructor(drawing: () => Drawn | null) {
    this.drawing = drawing;
  }

  /** The pointer is there, and no button is pressed; null where it has left. */
  protected abstract hover(drawing: Drawn, at: ScreenPlace | null): void;

  protected abstract moved(): void;

  down(event: PointerEvent): void {
    const drawing = this.drawing();
    if (drawing === null || !(event.currentTarget instanceof Element)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    this.start = placeOf(event);
    this.#pointers.set(event.pointerId, this.start);
    this.hasMoved = this.#pointers.size > 1;
    const isPan = event.button !== 0 || event.shiftKey || event.ctrlKey || event.metaKey || drawing.camera.isFlat;
    this.drag = isPan ? "pan" : "turn";
  }

  move(event: PointerEvent): void {
    const drawing = this.drawing();
    if (drawing === null) return;
    const at = placeOf(event);
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined || this.drag === null) {
      this.hover(drawing, at);
      return;
    }
    if (this.#pointers.size === 2) {
      this.#pinch(drawing, event.pointerId, before, at);
      return;
    }
    if (!this.hasMoved && distance(at, this.start) < STILL) return;
    this.#pointers.set(event.pointerId, at);
    this.hasMoved = true;
    this.drags(drawing, at, at.x - before.x, at.y - before.y);
  }

  protected drags(drawing: Drawn, _at: ScreenPlace, byX: number, byY: number): void {
    const { camera, size } = drawing;
    drawing.look(this.drag === "turn" ? turned(camera, byX, byY) : panned(camera, byX, byY, size));
    this.moved();
  }

  /** Two fingers: what is under them stays under them. */
  #pinch(drawing: Drawn, id: number, before: ScreenPlace, at: ScreenPlace): void {
    const other = [...this.#pointers].find(([one]) => one !== id)?.[1];
    this.#pointers.set(id, at);
    if (other === undefined) return;
    const [was, is] = [distance(before, other), distance(at, other)];
    if (was < 1) return;
    const middle = drawing.placeAt((at.x + other.x) / 2, (at.y + other.y) / 2);
    const next = zoomedTo(drawing.camera, is / was, middle);
    drawing.look(panned(next, (at.x - before.x) / 2, (at.y - before.y) / 2, drawing.size));
    this.moved();
  }

  up(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    if (this.#pointers.size === 0) this.drag = null;
  }

  /** The drag ended without an end of its own. */
  cancel(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    this.drag = null;
  }

  leave(): void {
    const drawing = this.drawing();
    if (this.drag === null && drawing !== null) this.hover(drawing, null);
  }

  wheel(event: WheelEvent): void {
    const drawing = this.drawing();
    if (drawing === null) return;
    event.preventDefault();
    // Lines and pages are worth so many pixels.
    const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 200;
    const factor = Math.exp(Math.max(-1, Math.min(1, -event.deltaY * unit * 0.002)));
    this.moved();
    drawing.look(zoomedTo(drawing.camera, factor, drawing.placeAt(event.offsetX, event.offsetY)));
  }
}

function placeOf(event: MouseEvent): ScreenPlace {
  return { x: event.offsetX, y: event.offsetY };
}

export function distance(a: ScreenPlace, b: ScreenPlace): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
