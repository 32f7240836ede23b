/** Which point is where on screen, found through a grid of cells. */
import { panned, turned, zoomed } from "./camera";
import type { Cloud } from "./cloud";
import { addToSelection, look, select, toggleSelected } from "./selection";
import * as store from "./store";

export interface Place {
  readonly x: number;
  readonly y: number;
}

const CELL = 16;

/** The points of a list, by where `projectAll` put them. */
export class ScreenIndex {
  /** Where all points are: three numbers each. */
  readonly screen: Float32Array;
  readonly #columns: number;
  readonly #rows: number;
  /** Where the points of each cell begin in `#points`. */
  readonly #starts: Int32Array;
  readonly #points: Int32Array;

  constructor(screen: Float32Array, shown: Int32Array, width: number, height: number) {
    this.screen = screen;
    this.#columns = Math.max(1, Math.ceil(width / CELL));
    this.#rows = Math.max(1, Math.ceil(height / CELL));
    const counts = new Int32Array(this.#columns * this.#rows + 1);
    for (const point of shown) {
      const cell = this.#cellOf(point);
      if (cell >= 0) counts[cell + 1]! += 1;
    }
    for (let cell = 1; cell < counts.length; cell++) counts[cell]! += counts[cell - 1]!;
    this.#starts = counts;
    this.#points = new Int32Array(counts[counts.length - 1]!);
    const next = Int32Array.from(counts);
    for (const point of shown) {
      const cell = this.#cellOf(point);
      if (cell >= 0) this.#points[next[cell]!++] = point;
    }
  }

  /** How many points are in view. */
  get numInView(): number {
    return this.#points.length;
  }

  /** All points in view, cell by cell. */
  get inView(): Int32Array {
    return this.#points;
  }

  #cellOf(point: number): number {
    const column = Math.floor(this.screen[point * 3]! / CELL);
    const row = Math.floor(this.screen[point * 3 + 1]! / CELL);
    const isInside = column >= 0 && column < this.#columns && row >= 0 && row < this.#rows;
    return isInside ? row * this.#columns + column : -1;
  }

  /** The point nearest to a place within a radius; of those as near to a pixel, the one in front; -1 for none. */
  nearest(x: number, y: number, radius: number): number {
    let [best, bestDistance, bestDepth] = [-1, Infinity, Infinity];
    this.#visit(x - radius, y - radius, x + radius, y + radius, (point) => {
      const away = Math.hypot(this.screen[point * 3]! - x, this.screen[point * 3 + 1]! - y);
      if (away > radius) return;
      const [distance, depth] = [Math.floor(away), this.screen[point * 3 + 2]!];
      if (distance > bestDistance || (distance === bestDistance && depth >= bestDepth)) return;
      [best, bestDistance, bestDepth] = [point, distance, depth];
    });
    return best;
  }

  /** The points in a box, in rising order. */
  inBox(from: Place, to: Place): number[] {
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    const found: number[] = [];
    this.#visit(left, top, right, bottom, (point) => {
      const [x, y] = [this.screen[point * 3]!, this.screen[point * 3 + 1]!];
      if (x >= left && x <= right && y >= top && y <= bottom) found.push(point);
    });
    return found.sort((a, b) => a - b);
  }

  /** The points inside a line that was drawn around them, in rising order. */
  inLasso(line: readonly Place[]): number[] {
    if (line.length < 3) return [];
    const [xs, ys] = [line.map(({ x }) => x), line.map(({ y }) => y)];
    const corner = { x: Math.min(...xs), y: Math.min(...ys) };
    return this.inBox(corner, { x: Math.max(...xs), y: Math.max(...ys) }).filter((point) =>
      isInside(line, this.screen[point * 3]!, this.screen[point * 3 + 1]!),
    );
  }

  /** The next point from one in a direction: near, and not far off to the side; -1 for none. */
  towards(from: number, byX: number, byY: number): number {
    const [x, y] = [this.screen[from * 3]!, this.screen[from * 3 + 1]!];
    let [best, bestCost] = [-1, Infinity];
    for (const point of this.#points) {
      if (point === from) continue;
      const [dx, dy] = [this.screen[point * 3]! - x, this.screen[point * 3 + 1]! - y];
      const ahead = dx * byX + dy * byY;
      const aside = Math.abs(dx * byY - dy * byX);
      if (ahead <= 0 || aside > ahead) continue;
      const cost = ahead + 2 * aside;
      if (cost < bestCost) [best, bestCost] = [point, cost];
    }
    return best;
  }

  #visit(left: number, top: number, right: number, bottom: number, see: (point: number) => void): void {
    const cell = (at: number, count: number): number => Math.max(0, Math.min(Math.floor(at / CELL), count - 1));
    const [firstRow, lastRow] = [cell(top, this.#rows), cell(bottom, this.#rows)];
    const [firstColumn, lastColumn] = [cell(left, this.#columns), cell(right, this.#columns)];
    for (let row = firstRow; row <= lastRow; row++) {
      const line = row * this.#columns;
      const end = this.#starts[line + lastColumn + 1]!;
      for (let at = this.#starts[line + firstColumn]!; at < end; at++) see(this.#points[at]!);
    }
  }
}

/** Does a ray to the right cross the line an odd number of times? */
function isInside(line: readonly Place[], x: number, y: number): boolean {
  let isIn = false;
  for (let at = 0, before = line.length - 1; at < line.length; before = at++) {
    const [a, b] = [line[at]!, line[before]!];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) isIn = !isIn;
  }
  return isIn;
}

// --- What the pointer does on the drawing: turn, move, zoom, choose one point or those inside an outline.

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
