/** Which way things go: curves from plate to plate, and rays from the selected unit to those it has weights with. */
import type { Rgb } from "../tensor/colour";
import type { Connection } from "../wire";
import { inSpace, type Plate } from "./plates";
import type { Segments } from "./segments";
import { between, lengthOf, minus, plus, times, type Vector } from "./vectors";

const PIECES = 14;
const HEAD = { least: 0.03, most: 0.12, breadth: 0.85 };
const WIDTH = 1.2;

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
export function curveOf(source: Plate, target: Plate, isFlat: boolean): readonly Vector[] {
  const right = edgeOf(source, "right");
  const left = edgeOf(target, "left");
  // Into another column: out on the right, in on the left.
  if (left[0] > right[0] && Math.abs(left[1] - right[1]) > 0.01) {
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
