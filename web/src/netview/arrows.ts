/** Which way things go: curves from plate to plate, and rays from the selected unit to those it has weights with. */
import type { Rgb } from "../tensor/colour";
import type { Connection } from "../wire";
import { inSpace, type Plate } from "./plates";
import type { Segments } from "./segments";
import { between, lengthOf, minus, plus, times, type Vector } from "./vectors";

const PIECES = 14;
const HEAD = { least: 0.03, most: 0.12, breadth: 0.85 };
const WIDTH = 1.2;
/** How far into a gap between columns arrows go up and down, and how round their corners are. */
const LANE = 0.14;
const ROUND = 0.3;
const LEAST_GAP = 0.2;

/** Room between two columns. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** The middle of one edge of a plate, its margin too. */
function edgeOf(plate: Plate, side: "left" | "right" | "back" | "front"): Vector {
  const { cells, across, down, margin } = plate;
  const [columns, rows] = [margin / lengthOf(across), margin / lengthOf(down)];
  const [x, y] = {
    left: [-columns, cells.rows / 2] as const,
    right: [cells.columns + columns, cells.rows / 2] as const,
    back: [cells.columns / 2, -rows] as const,
    front: [cells.columns / 2, cells.rows + rows] as const,
  }[side];
  return inSpace(plate, x, y, 0);
}

/** The places through which a curve goes, from the source to the target. */
export function curveOf(source: Plate, target: Plate, isFlat: boolean, gaps: readonly Gap[] = []): readonly Vector[] {
  const right = edgeOf(source, "right");
  const left = edgeOf(target, "left");
  // Into another column: out on the right, in on the left.
  if (left[0] > right[0] && Math.abs(left[1] - right[1]) > 0.01) {
    const gap = gaps.find(({ from, to }) => from >= right[0] - 1e-6 && to <= left[0] + 1e-6);
    if (gap !== undefined) return alongGap(right, left, gap, isFlat);
    const bend = Math.max(0.15, (left[0] - right[0]) / 2);
    return bezier(right, plus(right, [bend, 0, 0]), plus(left, [-bend, 0, 0]), left);
  }
  if (Math.abs(left[1] - right[1]) <= 0.01) return besideOf(source, target);
  const end = edgeOf(target, "right");
  const rise = Math.abs(end[1] - right[1]);
  if (isFlat && Math.abs(inSpace(source, source.cells.columns / 2, 0, 0)[0] - edgeOf(target, "front")[0]) < 1e-6) {
    const [from, to] = end[1] > right[1] ? (["back", "front"] as const) : (["front", "back"] as const);
    const [a, b] = [edgeOf(source, from), edgeOf(target, to)];
    // Near the right end: names stand at the left.
    const x = Math.min(right[0], end[0]) - 0.12;
    if (Math.abs(b[1] - a[1]) < 0.6) return [[x, a[1], a[2]], [x, b[1], b[2]]];
  }
  // Around what is between them: the farther, the wider.
  const bulge = Math.abs(right[0] - end[0]) * 0.3 + Math.min(0.8, 0.12 + 0.16 * rise);
  const out = Math.max(right[0], end[0]) + bulge;
  return bezier(
    right,
    [out, right[1] + (end[1] - right[1]) * 0.12, right[2]],
    [out, end[1] - (end[1] - right[1]) * 0.12, end[2]],
    end,
  );
}

/** Up or down beside the column it comes from, since names stand before the next one; then straight to its end. */
function alongGap(start: Vector, end: Vector, { from, to }: Gap, isFlat: boolean): readonly Vector[] {
  const x = from + (to - from) * (isFlat ? 0.5 : LANE);
  const round = Math.min(ROUND, Math.abs(end[1] - start[1]) / 2, (end[0] - x) / 2);
  const way = Math.sign(end[1] - start[1]) * round;
  const [out, back]: [Vector, Vector] = [
    [x, start[1], start[2]],
    [x, end[1], end[2]],
  ];
  return [
    ...bezier(start, out, out, plus(out, [0, way, 0])),
    ...bezier(plus(back, [0, -way, 0]), back, back, plus(back, [round, 0, 0])),
    end,
  ];
}

const known = new WeakMap<readonly Plate[], readonly Gap[]>();

/** Where nothing stands, from bottom to top, between the first plate and the last; from left to right. */
export function gapsBetween(plates: readonly Plate[]): readonly Gap[] {
  let gaps = known.get(plates);
  if (gaps === undefined) known.set(plates, (gaps = findGaps(plates)));
  return gaps;
}

function findGaps(plates: readonly Plate[]): readonly Gap[] {
  const spans = plates.map((plate) => ({ from: edgeOf(plate, "left")[0], to: edgeOf(plate, "right")[0] }));
  const gaps: Gap[] = [];
  let reached = Infinity;
  for (const { from, to } of spans.sort((a, b) => a.from - b.from)) {
    if (from > reached + LEAST_GAP) gaps.push({ from: reached, to: from });
    reached = reached === Infinity ? to : Math.max(reached, to);
  }
  return gaps;
}

/** At the same height: straight across. */
function besideOf(source: Plate, target: Plate): readonly Vector[] {
  const isRight = edgeOf(target, "left")[0] > edgeOf(source, "left")[0];
  return isRight
    ? [edgeOf(source, "right"), edgeOf(target, "left")]
    : [edgeOf(source, "left"), edgeOf(target, "right")];
}

function bezier(a: Vector, b: Vector, c: Vector, d: Vector): readonly Vector[] {
  return Array.from({ length: PIECES + 1 }, (_, piece) => {
    const share = piece / PIECES;
    const [ab, bc, cd] = [between(a, b, share), between(b, c, share), between(c, d, share)];
    return between(between(ab, bc, share), between(bc, cd, share), share);
  });
}

/** A curve with a head at its end. `reach`: of the whole picture, which decides on the size of the head. */
export function addArrow(
  segments: Segments,
  places: readonly Vector[],
  colour: Rgb,
  alpha: number,
  reach: number,
): void {
  const end = places.at(-1);
  const before = places.at(-2);
  if (end === undefined || before === undefined) return;
  const way = minus(end, before);
  const length = lengthOf(way);
  if (length === 0) return;
  const wanted = Math.max(HEAD.least, Math.min(HEAD.most, 0.024 * reach));
  const head = Math.min(wanted, pathLength(places) / 2);
  const neck = plus(end, times(way, -head / length));
  const shaft = places.filter((place) => lengthOf(minus(place, end)) > head);
  segments.addPath([...shaft, neck], { colour, alpha, width: WIDTH });
  segments.add(neck, end, { colour, alpha, width: 0, breadth: head * HEAD.breadth, endWidth: 0, endBreadth: 0 });
}

function pathLength(places: readonly Vector[]): number {
  return places.slice(1).reduce((sum, place, at) => sum + lengthOf(minus(place, places[at]!)), 0);
}

/** Connections whose two ends are both shown, each pair once. */
export function shownConnections(
  connections: readonly Connection[],
  plates: ReadonlyMap<string, Plate>,
): readonly (readonly [source: Plate, target: Plate])[] {
  const pairs = new Map<string, readonly [Plate, Plate]>();
  for (const { source, target } of connections) {
    const [from, to] = [plates.get(source), plates.get(target)];
    if (from !== undefined && to !== undefined && from !== to) pairs.set(JSON.stringify([source, target]), [from, to]);
  }
  return [...pairs.values()];
}
