/** Which unit is under a line of sight: by walking over the cells that it passes, as the picture was drawn. */
import * as store from "../../data/network/store";
import type { PointedPlace } from "../../data/network/store";
import { heightOfLevel, type Scaling } from "../../data/network/value-ranges";
import type { Ray, ScreenPlace } from "../camera";
import { distance, Pointing } from "../pointing";
import type { Gliding } from "./camera";
import type { Drawing } from "./drawing";
import { levelAt, marginsOf, momentOfLevel, type Plate, rayOnPlate, unitOfLevel } from "./plates";
import { usedCamera } from "./stage-control";

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

/** The two of a double click: as long after each other, and as far apart, as a system may allow. */
const DOUBLE_MS = 900;
const DOUBLE_PIXELS = 10;

interface Press {
  readonly layer: string | null;
  readonly time: number;
  /** On the page, which stays where it is. */
  readonly at: ScreenPlace;
}

export class UnitPointing extends Pointing<Drawing> {
  readonly #gliding: Gliding;
  /** What was under the last two presses, the older one first. */
  #pressed: readonly Press[] = [];

  constructor(drawing: () => Drawing | null, gliding: Gliding) {
    super(drawing);
    this.#gliding = gliding;
  }

  override down(event: PointerEvent): void {
    super.down(event);
    this.#gliding.stop();
    const layer = this.drawing()?.hitAt(event.offsetX, event.offsetY)?.plate.layer.name ?? null;
    this.#pressed = [...this.#pressed.slice(-1), { layer, time: event.timeStamp, at: onPage(event) }];
  }

  protected override drags(drawing: Drawing, at: ScreenPlace, byX: number, byY: number): void {
    this.hover(drawing, null);
    super.drags(drawing, at, byX, byY);
  }

  protected override moved(): void {
    this.#gliding.stop();
    usedCamera.value = null;
  }

  protected override hover(drawing: Drawing, at: ScreenPlace | null): void {
    const [place, before] = [at === null ? null : drawing.unitAt(at.x, at.y), store.hovered.peek()];
    const isSame = before?.layer === place?.layer && before?.unit === place?.unit && before?.moment === place?.moment;
    if (!isSame) store.hovered.value = place;
  }

  click(event: MouseEvent): void {
    const drawing = this.drawing();
    // The second of two belongs to a double click, and what is below it may have moved.
    if (drawing === null || this.hasMoved || event.detail === 2) return;
    const at = drawing.unitAt(event.offsetX, event.offsetY);
    store.selected.value = at === null ? null : { layer: at.layer, unit: at.unit };
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
    if (first === undefined || this.hasMoved) return;
    store.isolated.value = store.isolated.peek() === null ? first.layer : null;
  }
}

function onPage(event: MouseEvent): ScreenPlace {
  return { x: event.clientX, y: event.clientY };
}
