/** What the pointer does on the drawing: turn, move, zoom, choose one point or those inside an outline. */
import { panned, turned, zoomed } from "./camera";
import { addToSelection, look, select, toggleSelected } from "./choosing";
import type { Cloud } from "./cloud";
import type { Place } from "./picking";
import * as store from "./store";

export type Shape = "box" | "lasso";

const REACH = 10;
/** A press that moves less than this is a click. */
const STILL = 4;

type Drag = "turn" | "pan" | "outline";

export class Pointing {
  readonly #cloud: () => Cloud | null;
  readonly #shape: () => Shape;
  readonly #pointers = new Map<number, Place>();
  #drag: Drag | null = null;
  #start: Place = { x: 0, y: 0 };
  #hasMoved = false;
  #line: Place[] = [];

  constructor(cloud: () => Cloud | null, shape: () => Shape) {
    this.#cloud = cloud;
    this.#shape = shape;
  }

  down(event: PointerEvent): void {
    const cloud = this.#cloud();
    if (cloud === null || !(event.currentTarget instanceof Element)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = { x: event.offsetX, y: event.offsetY };
    this.#pointers.set(event.pointerId, at);
    this.#start = at;
    this.#hasMoved = this.#pointers.size > 1;
    const isPan = event.button !== 0 || event.ctrlKey || event.metaKey || cloud.camera.dims === 2;
    this.#drag = event.shiftKey ? "outline" : isPan ? "pan" : "turn";
    this.#line = [at];
  }

  move(event: PointerEvent): void {
    const cloud = this.#cloud();
    if (cloud === null) return;
    const at = { x: event.offsetX, y: event.offsetY };
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined || this.#drag === null) {
      this.#hover(cloud, at);
      return;
    }
    if (this.#pointers.size === 2) {
      this.#pinch(cloud, event.pointerId, before, at);
      return;
    }
    this.#pointers.set(event.pointerId, at);
    if (!this.#hasMoved && Math.hypot(at.x - this.#start.x, at.y - this.#start.y) < STILL) return;
    this.#hasMoved = true;
    this.#drags(cloud, at, at.x - before.x, at.y - before.y);
  }

  #drags(cloud: Cloud, at: Place, byX: number, byY: number): void {
    if (this.#drag === "turn") cloud.look(turned(cloud.camera, byX, byY));
    else if (this.#drag === "pan") cloud.look(panned(cloud.camera, byX, byY, cloud.size));
    else {
      this.#line.push(at);
      cloud.outline = this.#shape() === "lasso" ? [...this.#line] : boxOf(this.#start, at);
      cloud.draw();
    }
  }

  /** Two fingers: what is under them stays under them. */
  #pinch(cloud: Cloud, id: number, before: Place, at: Place): void {
    const other = [...this.#pointers].find(([one]) => one !== id)?.[1];
    this.#pointers.set(id, at);
    if (other === undefined) return;
    const [was, is] = [distance(before, other), distance(at, other)];
    if (was < 1) return;
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
    const next = zoomed(cloud.camera, is / was, middle.x, middle.y, cloud.size);
    cloud.look(panned(next, (at.x - before.x) / 2, (at.y - before.y) / 2, cloud.size));
  }

  up(event: PointerEvent): void {
    const cloud = this.#cloud();
    this.#pointers.delete(event.pointerId);
    const drag = this.#drag;
    if (this.#pointers.size === 0) this.#drag = null;
    if (cloud === null || drag === null || this.#pointers.size > 0) return;
    const at = { x: event.offsetX, y: event.offsetY };
    if (cloud.outline !== null) {
      const inside =
        this.#shape() === "lasso" ? cloud.index.inLasso(this.#line) : cloud.index.inBox(this.#start, at);
      cloud.outline = null;
      cloud.draw();
      if (event.ctrlKey || event.metaKey) addToSelection(inside);
      else select(inside);
    } else if (!this.#hasMoved && event.button === 0) this.#click(cloud, at, event.shiftKey);
  }

  /** The drag ended without an end of its own. */
  cancel(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    this.#drag = null;
    const cloud = this.#cloud();
    if (cloud === null) return;
    cloud.outline = null;
    cloud.draw();
  }

  #click(cloud: Cloud, { x, y }: Place, isAdded: boolean): void {
    const point = cloud.index.nearest(x, y, REACH);
    if (point < 0) look(null);
    else if (isAdded) toggleSelected(point);
    else look(point);
  }

  #hover(cloud: Cloud, { x, y }: Place): void {
    const point = cloud.index.nearest(x, y, REACH);
    const next = point < 0 ? null : point;
    if (store.hovered.peek() !== next) store.hovered.value = next;
  }

  leave(): void {
    if (this.#drag === null) store.hovered.value = null;
  }

  wheel(event: WheelEvent): void {
    const cloud = this.#cloud();
    if (cloud === null) return;
    event.preventDefault();
    // Lines and pages are worth so many pixels.
    const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 200;
    const factor = Math.exp(Math.max(-1, Math.min(1, -event.deltaY * unit * 0.002)));
    cloud.look(zoomed(cloud.camera, factor, event.offsetX, event.offsetY, cloud.size));
  }
}

function boxOf(from: Place, to: Place): Place[] {
  return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }];
}

function distance(a: Place, b: Place): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
