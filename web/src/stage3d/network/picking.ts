/** Which unit is under a line of sight: by walking over the cells that it passes, as the picture was drawn. */
import type { PointedPlace } from "../../data/network/store";
import { heightOfLevel, type Scaling } from "../../data/network/value-ranges";
import type { Ray, Vector } from "../camera";
import { levelAt, marginsOf, type Plate, rayOnPlate } from "./plates";

export interface DrawnPlate {
  readonly plate: Plate;
  readonly levels: Uint16Array | null;
  readonly scaling: Scaling | null;
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
    const own = rayOnPlate(one.plate, ray);
    const hit = one.isRaised && one.levels !== null ? walk(one, own) : onFloor(one.plate, own);
    if (hit !== null && (best === null || hit.at < best.at)) best = hit;
  }
  return best;
}

export function unitOf(hit: Hit | null): PointedPlace | null {
  return hit?.unit == null ? null : { layer: hit.plate.layer.name, unit: hit.unit, moment: hit.moment };
}

/** All rays from here on as the plate has them: in columns, rows and heights. */
function onFloor(plate: Plate, { origin, direction }: Ray): Hit | null {
  if (direction[2] === 0) return null;
  const at = -origin[2] / direction[2];
  if (!(at > 0)) return null;
  const [x, y] = [origin[0] + at * direction[0], origin[1] + at * direction[1]];
  const [byColumns, byRows] = marginsOf(plate);
  const { columns, rows } = plate.cells;
  if (x < -byColumns || y < -byRows || x > columns + byColumns || y > rows + byRows) return null;
  const level = levelAt(plate.cells, Math.floor(x), Math.floor(y));
  if (level < 0) return { plate, unit: null, at };
  return plate.isRaster ? { plate, unit: level % rows, moment: Math.floor(level / rows), at } : { plate, unit: level, at };
}

/** Over the field of bars, from cell to cell, until one of them is met, and at last the floor. */
function walk(drawn: DrawnPlate, ray: Ray): Hit | null {
  const { plate, highest } = drawn;
  const { columns, rows } = plate.cells;
  const floor = onFloor(plate, ray);
  const { origin, direction } = ray;
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
    const hit = meets(drawn, column, row, ray);
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
  { origin, direction }: Ray,
): Hit | null {
  const level = levelAt(plate.cells, column, row);
  if (level < 0 || levels === null || scaling === null) return null;
  const height = heightOfLevel(scaling, levels[level] ?? 0);
  const [low, high] = [[column + inset, row + inset, 0], [column + 1 - inset, row + 1 - inset, height]] as const;
  const [near, far] = through(origin, direction, low, high);
  if (!(far >= near) || far < 0) return null;
  return { plate, unit: level, at: Math.max(0, near) };
}

/** Where a line enters a box and where it leaves it; it misses the box where the second is less. */
export function through(origin: Vector, direction: Vector, low: Vector, high: Vector): readonly [enters: number, leaves: number] {
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
