/** Which point is where on screen, found through a grid of cells. */
import type { ScreenPlace } from "../camera";
import { Pointing } from "../pointing";
import type { Cloud } from "./cloud";
import { addToSelection, look, select, toggleSelected } from "./store";
import * as store from "./store";

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
    const cell = (at: number, count: number): number => Math.max(0, Math.min(Math.floor(at / CELL), count - 1));
    const [firstColumn, lastColumn] = [cell(x - radius, this.#columns), cell(x + radius, this.#columns)];
    for (let row = cell(y - radius, this.#rows); row <= cell(y + radius, this.#rows); row++) {
      const line = row * this.#columns;
      for (const point of this.#points.subarray(this.#starts[line + firstColumn], this.#starts[line + lastColumn + 1])) {
        const away = Math.hypot(this.screen[point * 3]! - x, this.screen[point * 3 + 1]! - y);
        if (away > radius) continue;
        const [distance, depth] = [Math.floor(away), this.screen[point * 3 + 2]!];
        if (distance > bestDistance || (distance === bestDistance && depth >= bestDepth)) continue;
        [best, bestDistance, bestDepth] = [point, distance, depth];
      }
    }
    return best;
  }

  /** The points inside a line that was drawn around them, in rising order. */
  inside(line: readonly ScreenPlace[]): Int32Array {
    if (line.length < 3) return new Int32Array(0);
    const [xs, ys] = [line.map(({ x }) => x), line.map(({ y }) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const isIn = (x: number, y: number): boolean => x >= left && x <= right && y >= top && y <= bottom && isInside(line, x, y);
    return this.#points.filter((point) => isIn(this.screen[point * 3]!, this.screen[point * 3 + 1]!)).sort();
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
}

/** Does a ray to the right cross the line an odd number of times? */
function isInside(line: readonly ScreenPlace[], x: number, y: number): boolean {
  let isIn = false;
  for (let at = 0, before = line.length - 1; at < line.length; before = at++) {
    const [a, b] = [line[at]!, line[before]!];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) isIn = !isIn;
  }
  return isIn;
}

/** So far from a point it is still meant. */
const NEAR = 10;

/** What the pointer does on the drawing: turn, move, zoom, choose one point or those inside an outline. */
export class PointPointing extends Pointing<Cloud> {
  override down(event: PointerEvent): void {
    super.down(event);
    if (event.shiftKey) this.drag = "own";
  }

  protected override drags(cloud: Cloud, at: ScreenPlace, byX: number, byY: number): void {
    if (this.drag !== "own") super.drags(cloud, at, byX, byY);
    else {
      cloud.outline = store.shape.peek() === "lasso" ? [...(cloud.outline ?? [this.start]), at] : boxOf(this.start, at);
      cloud.draw();
    }
  }

  protected override moved(): void {
    // The address says where the camera is, once it rests.
  }

  override up(event: PointerEvent): void {
    const [cloud, wasDragged] = [this.drawing(), this.drag !== null];
    super.up(event);
    if (cloud === null || !wasDragged || this.drag !== null) return;
    if (cloud.outline !== null) {
      const inside = [...cloud.index.inside(cloud.outline)];
      this.cancel(event);
      if (event.ctrlKey || event.metaKey) addToSelection(inside);
      else select(inside);
    } else if (!this.hasMoved && event.button === 0) {
      const point = cloud.index.nearest(event.offsetX, event.offsetY, NEAR);
      if (point >= 0 && event.shiftKey) toggleSelected(point);
      else look(point < 0 ? null : point);
    }
  }

  override cancel(event: PointerEvent): void {
    super.cancel(event);
    const cloud = this.drawing();
    if (cloud === null) return;
    cloud.outline = null;
    cloud.draw();
  }

  protected override hover(cloud: Cloud, at: ScreenPlace | null): void {
    const point = at === null ? -1 : cloud.index.nearest(at.x, at.y, NEAR);
    store.hovered.value = point < 0 ? null : point;
  }
}

export function boxOf(from: ScreenPlace, to: ScreenPlace): ScreenPlace[] {
  return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }];
}
