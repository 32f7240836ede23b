/** Which unit is under a line of sight: by walking over the cells that it passes, as the picture was drawn. */
import * as store from "../../data/network/store";
import type { PointedPlace } from "../../data/network/store";
import { heightOfLevel, type Scaling } from "../../data/network/value-ranges";
import { type Gliding, panned, type Ray, type ScreenPlace, turned, zoomedTo } from "./camera";
import type { Drawing } from "./drawing";
import { levelAt, marginsOf, momentOfLevel, type Plate, rayOnPlate, unitOfLevel } from "./plates";

/** A plate as it is drawn. */
export interface DrawnPlate {
  readonly plate: Plate;
  readonly levels: Uint16Array | null;
  readonly scaling: Scaling | null;
  /** Do its units rise? */
  readonly isRaised: boolean;
  /** No unit of it is higher. */
  readonly highest: number;
  /** From the edge of a cell to its bar, as a share of the cell. */
  readonly inset: number;
}

export interface Hit {
  readonly plate: Plate;
  /** Null on the margin of a plate, and between tiles. */
  readonly unit: number | null;
  /** Where time runs along the plate. */
  readonly moment?: number | undefined;
  /** Along the line of sight, in lengths of its direction. */
  readonly at: number;
}

/** The nearest that the line meets. */
export function pick(drawn: readonly DrawnPlate[], ray: Ray): Hit | null {
  let best: Hit | null = null;
  for (const one of drawn) {
    const hit = one.isRaised && one.levels !== null ? walk(one, ray) : onFloor(one.plate, ray);
    if (hit !== null && (best === null || hit.at < best.at)) best = hit;
  }
  return best;
}

export function unitOf(hit: Hit | null): PointedPlace | null {
  return hit?.unit == null ? null : { layer: hit.plate.layer.name, unit: hit.unit, moment: hit.moment };
}

function onFloor(plate: Plate, ray: Ray): Hit | null {
  const { origin, direction } = rayOnPlate(plate, ray);
  if (direction[2] === 0) return null;
  const at = -origin[2] / direction[2];
  if (!(at > 0)) return null;
  const [x, y] = [origin[0] + at * direction[0], origin[1] + at * direction[1]];
  const [byColumns, byRows] = marginsOf(plate);
  const { columns, rows } = plate.cells;
  if (x < -byColumns || y < -byRows || x > columns + byColumns || y > rows + byRows) return null;
  const level = levelAt(plate.cells, Math.floor(x), Math.floor(y));
  if (level < 0) return { plate, unit: null, at };
  return { plate, unit: unitOfLevel(plate, level), moment: momentOfLevel(plate, level), at };
}

/** Over the field of bars, from cell to cell, until one of them is met, and at last the floor. */
function walk(drawn: DrawnPlate, ray: Ray): Hit | null {
  const { plate, highest } = drawn;
  const { columns, rows } = plate.cells;
  const floor = onFloor(plate, ray);
  const { origin, direction } = rayOnPlate(plate, ray);
  const [from, until] = through(origin, direction, [0, 0, 0], [columns, rows, highest]);
  if (!(until >= Math.max(0, from))) return floor;
  let at = Math.max(0, from);
  // A little further in, so that the start is in the cell that is entered, not on its edge.
  const inside = at + Math.min(1e-9 * (1 + at), (until - at) / 2);
  let column = clamp(Math.floor(origin[0] + inside * direction[0]), columns);
  let row = clamp(Math.floor(origin[1] + inside * direction[1]), rows);
  const [byColumn, byRow] = [Math.sign(direction[0]), Math.sign(direction[1])];
  const isInside = (): boolean => column >= 0 && row >= 0 && column < columns && row < rows;
  while (isInside() && at <= until) {
    const hit = meets(drawn, column, row, origin, direction);
    if (hit !== null && (floor === null || hit.at <= floor.at)) return hit;
    const toColumn = crossing(origin[0], direction[0], column);
    const toRow = crossing(origin[1], direction[1], row);
    if (toColumn === Infinity && toRow === Infinity) break;
    at = Math.min(toColumn, toRow);
    if (toColumn <= toRow) column += byColumn;
    else row += byRow;
  }
  return floor;
}

/** Where the line leaves a cell on one axis. */
function crossing(origin: number, direction: number, cell: number): number {
  if (direction === 0) return Infinity;
  return ((direction > 0 ? cell + 1 : cell) - origin) / direction;
}

function clamp(cell: number, count: number): number {
  return Math.max(0, Math.min(count - 1, cell));
}

function meets(
  { plate, levels, scaling, inset }: DrawnPlate,
  column: number,
  row: number,
  origin: readonly [number, number, number],
  direction: readonly [number, number, number],
): Hit | null {
  const level = levelAt(plate.cells, column, row);
  if (level < 0 || levels === null || scaling === null) return null;
  const height = heightOfLevel(scaling, levels[level] ?? 0);
  const [near, far] = through(
    origin,
    direction,
    [column + inset, row + inset, 0],
    [column + 1 - inset, row + 1 - inset, height],
  );
  if (!(far >= near) || far < 0) return null;
  return { plate, unit: unitOfLevel(plate, level), at: Math.max(0, near) };
}

/** Where a line enters a box and where it leaves it; it misses the box where the second is less. */
export function through(
  origin: readonly [number, number, number],
  direction: readonly [number, number, number],
  low: readonly [number, number, number],
  high: readonly [number, number, number],
): readonly [enters: number, leaves: number] {
  let [enters, leaves] = [-Infinity, Infinity];
  for (const axis of [0, 1, 2] as const) {
    if (direction[axis] === 0) {
      if (origin[axis] < low[axis] || origin[axis] > high[axis]) return [Infinity, -Infinity];
      continue;
    }
    const a = (low[axis] - origin[axis]) / direction[axis];
    const b = (high[axis] - origin[axis]) / direction[axis];
    enters = Math.max(enters, Math.min(a, b));
    leaves = Math.min(leaves, Math.max(a, b));
  }
  return [enters, leaves];
}

// --- What the pointer does on the stage: turn, move, zoom, choose a unit, isolate a layer.

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
