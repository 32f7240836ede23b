/** Where plates stand: one above the other from the input to the output, branches side by side. */
import { groupBy } from "../../data/collections";
import { formatShape } from "../../data/format";
import type { Connection, NetLayer } from "../../wire";
import { plus, times, type Vector } from "../camera";
import { MOST_NAME, NAME_CLEAR } from "./plate-labels";
import { type Cells, cellsOf, type Plate, rasterCells } from "./plates";

/** Moments on each plate that runs over time, by the name of its layer. */
export type Rasters = ReadonlyMap<string, number>;

/** As wide as high, as most views are: a network that is larger stands in several columns. */
const ASPECT = 1.4;
/** Of a view of usual size, in pixels. */
const VIEW_HEIGHT = 620;
/** Of such a view's height, what is left for plates at least. */
const LEAST_SHARE = 0.2;
/** One stack is easier to read than several: they have to be so much larger, for each column. */
const STACKED = 0.15;
/** Up to so many rows stand in one. */
const FEW_ROWS = 6;
const SEARCHES = 20;

/** Those that are at the same step of the way from input to output. */
interface Row {
  readonly prints: readonly Footprint[];
  readonly width: number;
  readonly depth: number;
  readonly height: number;
}

export function arrange(
  layers: readonly NetLayer[],
  connections: readonly Connection[],
  isFlat: boolean,
  rasters: Rasters | null = null,
): readonly Plate[] {
  const prints = layers.map((layer) => footprintOf(layer, rasters?.get(layer.name)));
  const known = new Set(layers.map((layer) => layer.name));
  const isByHand = (layer: NetLayer): boolean =>
    layer.place.relation !== null && known.has(layer.place.other) && layer.place.other !== layer.name;
  const rows = rowsOf(
    prints.filter((print) => !isByHand(print.layer)),
    stepsOf(layers, connections),
  );
  const middles = new Map<string, Vector>();
  placeColumns(rows, isFlat, middles);
  byHand(prints, middles, isFlat);
  const plates = prints.map((print) => plateAt(print, middles.get(print.layer.name) ?? [0, 0, 0], isFlat));
  return centred(plates, isFlat);
}

function rowsOf(prints: readonly Footprint[], steps: ReadonlyMap<string, number>): readonly Row[] {
  const byStep = groupBy(prints, (print) => steps.get(print.layer.name) ?? 0);
  return [...byStep]
    .sort(([a], [b]) => a - b)
    .map(([, row]) => ({
      prints: row,
      width: row.reduce((sum, print) => sum + print.fullWidth + BESIDE, -BESIDE),
      depth: Math.max(...row.map((print) => print.fullDepth)),
      height: Math.max(...row.map((print) => print.height)),
    }));
}

interface Columns {
  readonly columns: readonly (readonly Row[])[];
  /** Left of each column. */
  readonly gaps: readonly number[];
  /** The height of a view that all of it fills. */
  readonly size: number;
}

/** Rows in so many columns that all of it is about as wide as a view. */
function placeColumns(rows: readonly Row[], isFlat: boolean, middles: Map<string, Vector>): void {
  // All of them hidden, or all placed by hand.
  if (rows.length === 0) return;
  const { columns, gaps } = bestColumns(rows, isFlat);
  let left = 0;
  for (const [nth, column] of columns.entries()) {
    const width = widthOf(column);
    left += gaps[nth]!;
    let up = 0;
    for (const [at, row] of column.entries()) {
      if (at > 0) up += riseOf(column[at - 1]!, row.depth, isFlat);
      let from = left + (width - row.width) / 2;
      for (const print of row.prints) {
        middles.set(print.layer.name, [from + print.fullWidth / 2, up, 0]);
        from += print.fullWidth + BESIDE;
      }
    }
    left += width;
  }
}

function bestColumns(rows: readonly Row[], isFlat: boolean): Columns {
  let best: Columns = { columns: [], gaps: [], size: Infinity };
  let least = Infinity;
  for (let count = 1; count <= (rows.length <= FEW_ROWS ? 1 : Math.min(rows.length, 40)); count++) {
    const found = spaced(split(rows, count, isFlat), isFlat);
    const size = found.size * (1 + STACKED * (count - 1));
    if (size < least) [best, least] = [found, size];
  }
  return best;
}

/** With room between columns for arrows and names. Names stay as large on screen as they are, however much there is. */
function spaced(columns: readonly (readonly Row[])[], isFlat: boolean): Columns {
  const space = (isFlat ? SPACE.flat : SPACE.deep).columns;
  const names = columns.map((column, at) => (at === 0 || isFlat ? 0 : namesOf(column) / VIEW_HEIGHT));
  const width = columns.reduce((sum, column) => sum + widthOf(column) + space, -space);
  const height = Math.max(...columns.map((column) => heightOf(column, isFlat)));
  // The names take their share of the width first, the plates have what is left.
  const left = Math.max(LEAST_SHARE, ASPECT - names.reduce((sum, name) => sum + name, 0));
  const size = Math.max(width / left, height);
  return { columns, gaps: names.map((name, at) => (at === 0 ? 0 : space + name * size)), size };
}

function widthOf(column: readonly Row[]): number {
  return Math.max(...column.map((row) => row.width));
}

function namesOf(column: readonly Row[]): number {
  return Math.max(...column.map(({ prints }) => namePixels(prints[0]!.layer)));
}

function heightOf(column: readonly Row[], isFlat: boolean): number {
  const rises = column.slice(1).map((row, at) => riseOf(column[at]!, row.depth, isFlat));
  return rises.reduce((sum, rise) => sum + rise, 0) + (column[0]!.depth + column.at(-1)!.depth) / 2;
}

/** In their order, into so many parts that the highest of them is as low as it can be. */
function split(rows: readonly Row[], count: number, isFlat: boolean): readonly (readonly Row[])[] {
  // A little more than all of it, since the same sum in another order may be a little more.
  let [low, high] = [0, heightOf(rows, isFlat) * (1 + 1e-9)];
  let best = filled(rows, high, isFlat);
  for (let turn = 0; turn < SEARCHES; turn++) {
    const most = (low + high) / 2;
    const columns = filled(rows, most, isFlat);
    if (columns.length <= count) [best, high] = [columns, most];
    else low = most;
  }
  return best;
}

function filled(rows: readonly Row[], most: number, isFlat: boolean): readonly (readonly Row[])[] {
  const columns: Row[][] = [];
  let height = Infinity;
  for (const row of rows) {
    const last = columns.at(-1)?.at(-1);
    const next = last === undefined ? Infinity : height + riseOf(last, row.depth, isFlat) + (row.depth - last.depth) / 2;
    if (last === undefined || next > most) {
      columns.push([row]);
      height = row.depth;
    } else {
      columns.at(-1)!.push(row);
      height = next;
    }
  }
  return columns;
}

/** `middle`: of the plate, on the floor. */
function plateAt(print: Footprint, middle: Vector, isFlat: boolean): Plate {
  const { layer, cells, isRaster, width, depth, height, margin } = print;
  const [column, row] = [width / cells.columns, depth / cells.rows];
  return {
    layer,
    cells,
    isRaster,
    origin: plus(middle, isFlat ? [-width / 2, depth / 2, 0] : [-width / 2, 0, -depth / 2]),
    across: [column, 0, 0],
    down: isFlat ? [0, -row, 0] : [0, 0, row],
    up: isFlat ? [0, 0, height] : [0, height, 0],
    margin,
  };
}

function centred(plates: readonly Plate[], isFlat: boolean): readonly Plate[] {
  if (plates.length === 0) return plates;
  const shiftAlong = (axis: 0 | 1 | 2): number => {
    const ends = plates.flatMap(({ origin, across, down, cells }) => {
      const start = origin[axis];
      return [start, start + across[axis] * cells.columns + down[axis] * cells.rows];
    });
    return -(Math.min(...ends) + Math.max(...ends)) / 2;
  };
  // In a flat view all lie in one plane.
  const by: Vector = [shiftAlong(0), shiftAlong(1), isFlat ? 0 : shiftAlong(2)];
  return plates.map((plate) => ({ ...plate, origin: plus(plate.origin, by) }));
}

/**
 * One more than the last of those from which a layer receives. Layers stand in the order in which they were
 * computed; what goes back against it, in a recurrent network, does not count. A layer of which nothing is known
 * comes after the one before it.
 */
export function stepsOf(layers: readonly NetLayer[], connections: readonly Connection[]): ReadonlyMap<string, number> {
  const order = new Map(layers.map((layer, at) => [layer.name, at]));
  const forward = connections.filter(({ source, target }) => {
    const [from, to] = [order.get(source), order.get(target)];
    return from !== undefined && to !== undefined && from < to;
  });
  const received = groupBy(forward, (connection) => connection.target);
  const sent = groupBy(forward, (connection) => connection.source);
  const steps = new Map<string, number>();
  let before = -1;
  for (const { name, is_input: isInput } of layers) {
    const from = received.get(name)?.map(({ source }) => steps.get(source) ?? 0);
    const isStart = from === undefined && (isInput || sent.has(name));
    const step = from !== undefined ? Math.max(...from) + 1 : isStart ? 0 : before + 1;
    steps.set(name, step);
    if (!isStart || isInput) before = step;
  }
  pullDown(layers, received, sent, steps);
  return steps;
}

/** What receives from nobody and is no input, as an embedding of positions, stands just before what it goes into. */
function pullDown(
  layers: readonly NetLayer[],
  received: ReadonlyMap<string, readonly Connection[]>,
  sent: ReadonlyMap<string, readonly Connection[]>,
  steps: Map<string, number>,
): void {
  for (const { name, is_input: isInput } of layers) {
    const targets = sent.get(name);
    if (isInput || received.has(name) || targets === undefined) continue;
    const least = Math.min(...targets.map(({ target }) => steps.get(target) ?? 0));
    steps.set(name, Math.max(0, least - 1));
  }
}

/** Add the middles of those that stand in relation to others, then all offsets. */
function byHand(prints: readonly Footprint[], middles: Map<string, Vector>, isFlat: boolean): void {
  const byName = new Map(prints.map((print) => [print.layer.name, print]));
  const settle = (print: Footprint, above: ReadonlySet<string>): Vector => {
    const { name, place } = print.layer;
    const known = middles.get(name);
    if (known !== undefined) return known;
    const other = byName.get(place.other);
    // Two that stand each beside the other: one of them stands where it happens to.
    const from: Vector =
      other === undefined || above.has(place.other) ? [0, 0, 0] : settle(other, new Set([...above, name]));
    const middle = other === undefined ? from : plus(from, wayTo(print, other, place.relation, isFlat));
    const moved = plus(middle, offsetOf(print, isFlat));
    middles.set(name, moved);
    return moved;
  };
  // Offsets of those that stand by themselves first: what is beside them goes with them.
  for (const print of prints) {
    const middle = middles.get(print.layer.name);
    if (middle !== undefined) middles.set(print.layer.name, plus(middle, offsetOf(print, isFlat)));
  }
  for (const print of prints) settle(print, new Set([print.layer.name]));
}

type Relation = NetLayer["place"]["relation"];

function wayTo(print: Footprint, other: Footprint, relation: Relation, isFlat: boolean): Vector {
  const across = (print.fullWidth + other.fullWidth) / 2 + BESIDE;
  const rise = (below: Footprint, above: Footprint): number =>
    riseOf({ depth: below.fullDepth, height: below.height }, above.fullDepth, isFlat);
  const deep = (print.fullDepth + other.fullDepth) / 2 + BESIDE;
  const forward: Vector = isFlat ? [0, -rise(print, other), 0] : [0, 0, deep];
  const ways: Record<NonNullable<Relation>, Vector> = {
    rightof: [across, 0, 0],
    leftof: [-across, 0, 0],
    above: [0, rise(other, print), 0],
    below: [0, -rise(print, other), 0],
    infront: forward,
    behind: times(forward, -1),
  };
  return relation === null ? [0, 0, 0] : ways[relation];
}

/** In widths of the plate: right, up, to the front. Flat, what is in front is further down. */
function offsetOf(print: Footprint, isFlat: boolean): Vector {
  const [right = 0, up = 0, front = 0] = print.layer.place.offset;
  const width = print.fullWidth;
  return isFlat ? [right * width, (up - front) * width, 0] : [right * width, up * width, front * width];
}

// --- How large plates are, and how far apart they stand.

interface Footprint {
  readonly layer: NetLayer;
  readonly cells: Cells;
  readonly isRaster: boolean;
  /** Of all cells. */
  readonly width: number;
  readonly depth: number;
  readonly height: number;
  readonly margin: number;
  /** Its margin, too. */
  readonly fullWidth: number;
  readonly fullDepth: number;
}

/** The side of a plate grows so slowly that ten units and a picture of 224×224 can both be read. */
const GROWTH = 0.2;
const LARGEST_CELL = 0.25;
/** No side is less than this share of the other: a unit would be a line. */
const NARROWEST = 0.06;
const BESIDE = 0.3;
const RASTER_WIDTH = 2.4;
/** A letter of a name, on average, in pixels. */
const LETTER = 6.8;

/** Distances between plates: with depth, as seen from a little above, or flat. That for names comes to those of columns. */
const SPACE = {
  deep: { lean: 0.66, above: 0.24, columns: 0.95 },
  flat: { lean: 1, above: 0.34, columns: 0.4 },
} as const;

function footprintOf(layer: NetLayer, numMoments: number | undefined): Footprint {
  const isRaster = numMoments !== undefined;
  const cells = isRaster ? rasterCells(layer.grid.num_units, numMoments) : cellsOf(layer.grid);
  const { scale } = layer.place;
  const longest = Math.max(cells.columns, cells.rows);
  const side = sideOf(isRaster ? cells.rows : longest) * scale;
  const cell = side / longest;
  const width = isRaster ? RASTER_WIDTH * scale : Math.max(cells.columns * cell, NARROWEST * side);
  const depth = isRaster ? side : Math.max(cells.rows * cell, NARROWEST * side);
  const margin = 0.04 * side + 0.03;
  return {
    layer,
    cells,
    isRaster,
    width,
    depth,
    height: Math.max(Math.min(width / cells.columns, depth / cells.rows), 0.028 * side),
    margin,
    fullWidth: width + 2 * margin,
    fullDepth: depth + 2 * margin,
  };
}

function sideOf(numCells: number): number {
  return Math.min(numCells * LARGEST_CELL, numCells ** GROWTH);
}

/** From one plate up to the next, such that neither hides the other. */
function riseOf(below: Pick<Row, "depth" | "height">, aboveDepth: number, isFlat: boolean): number {
  const space = isFlat ? SPACE.flat : SPACE.deep;
  return (space.lean * (below.depth + aboveDepth)) / 2 + space.above + (isFlat ? 0 : below.height);
}

/** About as wide as what is written beside a plate, in pixels. */
export function namePixels(layer: NetLayer): number {
  const longest = Math.max(layer.name.length, formatShape(layer.shape).length);
  return Math.min(MOST_NAME, longest * LETTER) + NAME_CLEAR;
}
