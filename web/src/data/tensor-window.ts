/**
 * Which values of a tensor are shown. The last two dimensions are rows and columns, the one before counts tiles,
 * those before that are held at one index, the item (as torcheer.tensorfile.views says).
 */
import type { TensorView, Window } from "../wire";
import type { TensorValues, Values } from "./source";
import { stripWidth } from "./tensor-tiles";

/** Every `step`-th index from `first`, `count` of them. */
export interface Axis {
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

export type AxisName = "tiles" | "rows" | "columns";

/** The values that can be had: for one item, along three axes. */
export interface Reach extends Readonly<Record<AxisName, Axis>> {
  readonly item: readonly number[];
}

export interface Grid extends Readonly<Record<AxisName, number>> {
  /** The dimensions before the tiles. */
  readonly itemShape: readonly number[];
}

export function gridOf(shape: readonly number[]): Grid {
  const at = (fromEnd: number): number => shape.at(-fromEnd) ?? 1;
  return { itemShape: shape.slice(0, -3), tiles: at(3), rows: at(2), columns: at(1) };
}

const AXES = ["tiles", "rows", "columns"] as const;

function perAxis<Value>(make: (name: AxisName) => Value): Record<AxisName, Value> {
  return { tiles: make("tiles"), rows: make("rows"), columns: make("columns") };
}

export function fullReach(shape: readonly number[], item: readonly number[]): Reach {
  const grid = gridOf(shape);
  return { item, ...perAxis((name) => ({ first: 0, step: 1, count: grid[name] })) };
}

export function reachOf(window: Window): Reach {
  return {
    item: window.item,
    tiles: { first: window.first_tile, step: 1, count: window.num_tiles },
    rows: { first: window.first_row, step: window.row_step, count: window.num_rows },
    columns: { first: window.first_column, step: window.column_step, count: window.num_columns },
  };
}

export function windowOf(reach: Reach): Window {
  return {
    item: [...reach.item],
    first_tile: reach.tiles.first,
    num_tiles: reach.tiles.count,
    first_row: reach.rows.first,
    row_step: reach.rows.step,
    num_rows: reach.rows.count,
    first_column: reach.columns.first,
    column_step: reach.columns.step,
    num_columns: reach.columns.count,
  };
}

/** Is the whole tensor in it, value by value? */
export function isWhole(shape: readonly number[], window: Window): boolean {
  const { itemShape, tiles, rows, columns } = gridOf(shape);
  const { num_tiles, num_rows, num_columns } = window;
  return (
    itemShape.every((size) => size === 1) && num_tiles * num_rows * num_columns === tiles * rows * columns
  );
}

/** The axis along which a tensor is one line of values, if it is: `[512]`, `[1, 1000]`, `[1, 512, 1, 1]`. */
export function stripAxis(reach: Reach): AxisName | null {
  const long = AXES.filter((name) => reach[name].count > 1);
  return long.length > 1 ? null : (long[0] ?? "columns");
}

export const PAGE_ROWS = 5;
/** Where there is room for them. */
export const PAGE_COLUMNS = 7;

/** Where a page of numbers starts, counted along the axes of the reach. */
export type Start = Readonly<Record<AxisName, number>>;

/** How many values a page takes along each axis. */
export function pageSize(reach: Reach, columns = PAGE_COLUMNS): Start {
  const strip = stripAxis(reach);
  if (strip !== null) return { tiles: 1, rows: 1, columns: 1, [strip]: PAGE_ROWS * columns };
  return { tiles: 1, rows: PAGE_ROWS, columns };
}

/** The start nearest to the one wanted at which the page is full, where the tensor can fill one. */
export function clampStart(reach: Reach, start: Start, columns = PAGE_COLUMNS): Start {
  const size = pageSize(reach, columns);
  return perAxis((name) => Math.max(0, Math.min(Math.trunc(start[name]) || 0, reach[name].count - size[name])));
}

export function pageWindow(reach: Reach, start: Start, columns = PAGE_COLUMNS): Window {
  const from = clampStart(reach, start, columns);
  const size = pageSize(reach, columns);
  const parts = perAxis((name) => {
    const { first, step, count } = reach[name];
    return { first: first + from[name] * step, step, count: Math.min(size[name], count - from[name]) };
  });
  return windowOf({ item: reach.item, ...parts });
}

/** Where an index stands along an axis; -1 where the axis leaves it out. */
function placeOn({ first, step, count }: Axis, index: number): number {
  const steps = (index - first) / step;
  return Number.isInteger(steps) && steps >= 0 && steps < count ? steps : -1;
}

/** The start of the page that holds an index of the tensor, or null where the reach does not have it. */
export function startFor(reach: Reach, shape: readonly number[], index: readonly number[]): Start | null {
  if (index.length !== shape.length || index.some((at, dim) => at < 0 || at >= shape[dim]!)) return null;
  const start = perAxis((name) => placeOn(reach[name], index.at(AXES.indexOf(name) - AXES.length) ?? 0));
  return AXES.some((name) => start[name] < 0) ? null : start;
}

/** A window as it would be written in Python: `[0, 17, 0:5, 0:7]`. */
export function windowText(shape: readonly number[], window: Window): string {
  const reach = reachOf(window);
  return `[${[...window.item, ...lastOf(shape, AXES.map((name) => axisText(reach[name])))].join(", ")}]`;
}

/** Of what there is along tiles, rows and columns, that of the dimensions which a tensor has. */
function lastOf<Value>(shape: readonly number[], values: readonly Value[]): readonly Value[] {
  return values.slice(3 - Math.min(3, shape.length));
}

function axisText({ first, step, count }: Axis): string {
  if (count === 1) return String(first);
  const end = first + (count - 1) * step + 1;
  return step === 1 ? `${first}:${end}` : `${first}:${end}:${step}`;
}

/** The index in the tensor of the n-th value of a window. */
export function indexOf(shape: readonly number[], window: Window, nth: number): number[] {
  const { num_rows, num_columns } = window;
  const column = window.first_column + (nth % num_columns) * window.column_step;
  const row = window.first_row + (Math.floor(nth / num_columns) % num_rows) * window.row_step;
  const tile = window.first_tile + Math.floor(nth / (num_columns * num_rows));
  return [...window.item, ...lastOf(shape, [tile, row, column])];
}

/** Part of what is there, or null where not all of it is. */
export function crop(whole: TensorValues, window: Window): TensorValues | null {
  const have = reachOf(whole.view.window);
  const want = reachOf(window);
  if (have.item.join() !== want.item.join()) return null;
  const { tiles, rows, columns } = perAxis((name) => places(have[name], want[name]));
  if (tiles === null || rows === null || columns === null) return null;
  const count = tiles.length * rows.length * columns.length;
  const values: Values = whole.view.encoding === "f8" ? new Float64Array(count) : new Float32Array(count);
  let at = 0;
  for (const tile of tiles) {
    for (const row of rows) {
      const line = (tile * have.rows.count + row) * have.columns.count;
      for (const column of columns) values[at++] = whole.values[line + column]!;
    }
  }
  return { view: { ...whole.view, window }, values };
}

function places(have: Axis, want: Axis): number[] | null {
  const found = Array.from({ length: want.count }, (_, nth) => placeOn(have, want.first + nth * want.step));
  return found.includes(-1) ? null : found;
}

/** The item so many further on, or null past either end. */
export function stepItem(shape: readonly number[], item: readonly number[], by: number): number[] | null {
  const total = shape.reduce((product, size) => product * size, 1);
  const at = item.reduce((place, index, dim) => place * shape[dim]! + index, 0) + by;
  if (at < 0 || at >= total) return null;
  let rest = at;
  return shape.reduceRight<number[]>((next, size) => {
    const index = rest % size;
    rest = Math.floor(rest / size);
    return [index, ...next];
  }, []);
}

export interface PictureModel {
  readonly tiles: number;
  readonly rows: number;
  readonly columns: number;
  readonly isStrip: boolean;
  /** Which value of the window stands there; may lie past the last one in a strip. */
  nth(tile: number, row: number, column: number): number;
}

/** How a window becomes a picture: tiles as they are, a line of values wrapped into rows. */
export function pictureOf(view: Pick<TensorView, "shape" | "window">): PictureModel {
  const { num_tiles, num_rows, num_columns } = view.window;
  const { tiles, rows, columns } = gridOf(view.shape);
  // By the tensor, not by the window: one row of a matrix is still a row.
  const isLine = [tiles, rows, columns].filter((size) => size > 1).length <= 1;
  const isStrip = isLine && stripAxis(reachOf(view.window)) !== null;
  const count = num_tiles * num_rows * num_columns;
  const width = isStrip ? stripWidth(count) : num_columns;
  const height = isStrip ? Math.ceil(count / width) : num_rows;
  return {
    tiles: isStrip ? 1 : num_tiles,
    rows: height,
    columns: width,
    isStrip,
    nth: (tile, row, column) => (tile * height + row) * width + column,
  };
}
