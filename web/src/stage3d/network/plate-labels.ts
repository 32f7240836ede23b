/** Names beside plates: upright whatever the view, none over another or on somebody else's plate. */
import { formatShape } from "../../data/format";
import { type Camera, project, type ScreenPlace, type Size } from "../camera";
import { cornersOf, type Plate } from "./plates";

interface Words {
  readonly name: string;
  readonly about: string;
}

export interface Label extends Words {
  readonly corners: readonly ScreenPlace[];
  /** Those first have their place first. */
  readonly rank: number;
}

export interface PlacedLabel extends Words {
  /** Where its text ends, or begins. */
  readonly x: number;
  /** The base line of the name. */
  readonly y: number;
  /** Its text begins there, all of it on one line. */
  readonly isStart: boolean;
}

type Box = Readonly<Record<"left" | "right" | "top" | "bottom", number>>;

const LINE = 14;
/** Between a name and its plate, in pixels. */
export const NAME_CLEAR = 10;
/** Longer names are cut at their beginning: their end says more. In pixels too. */
export const MOST_NAME = 150;
const EDGE = 4;
const TOUCH = 3;
/** The rank of those that are named in any case. */
const FIRST = 1e6;
/** Beside smaller plates, which are many, stand names alone. */
const SMALL_PLATE = 84;

/** One for each plate that is before the eye. `first`: layers that are named whatever else is. */
export function labelsOf(
  painted: readonly { readonly plate: Plate }[],
  camera: Camera,
  size: Size,
  first: readonly (string | undefined)[],
): readonly Label[] {
  return painted.flatMap(({ plate }) => {
    const corners = cornersOf(plate).map((corner) => project(camera, size, corner));
    if (!corners.every((corner) => corner !== null)) return [];
    const { left, right } = around(corners);
    const { name, shape } = plate.layer;
    const isFirst = first.includes(name);
    const about = right - left < SMALL_PLATE && !isFirst ? "" : formatShape(shape);
    return [{ name, about, corners, rank: (isFirst ? FIRST : 0) + right - left }];
  });
}

export function around(corners: readonly ScreenPlace[]): Box {
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}

type Measure = (text: string) => number;

export function placeLabels(
  labels: readonly Label[],
  widthOf: Measure,
  isAbove: boolean,
  size: Size,
): readonly PlacedLabel[] {
  const taken: Box[] = [];
  const placed = new Map<Label, PlacedLabel>();
  const sorted = labels.toSorted((a, b) => b.rank - a.rank);
  // Those that have no place of their own come last: they take none from the others.
  for (const isLast of [false, true]) {
    for (const label of sorted) {
      if (placed.has(label)) continue;
      const named = { ...label, name: shortened(label.name, widthOf) };
      const spot = (isAbove ? spotsAbove : spotsBeside)(named, widthOf, size).find(
        ({ box, isOnPlate }) =>
          (isOnPlate === isLast || label.rank >= FIRST) &&
          isSeen(box, size) &&
          !taken.some((other) => overlap(box, other)) &&
          (isAbove || isOnPlate || !labels.some((other) => other !== label && covers(box, other.corners))),
      );
      if (spot === undefined) continue;
      taken.push(spot.box);
      placed.set(label, spot);
    }
  }
  return [...placed.values()];
}

function shortened(name: string, widthOf: Measure): string {
  const width = widthOf(name);
  if (width <= MOST_NAME) return name;
  return `…${name.slice(-Math.max(1, Math.floor((name.length * MOST_NAME) / width) - 1))}`;
}

interface Spot extends PlacedLabel {
  readonly box: Box;
  /** On its own plate, and on what is beside it. */
  readonly isOnPlate: boolean;
}

/** Left of the plate, at its corner or a little higher or lower; else on it. */
function spotsBeside(label: Label, widthOf: Measure, size: Size): readonly Spot[] {
  const corner = label.corners.reduce((best, one) => (one.x < best.x ? one : best));
  const left = [...new Set([label.about, ""])].map((about) => leftOf(label, about, corner, widthOf, size));
  const moved = [-LINE / 2, LINE / 2].map((by) => leftOf(label, "", { x: corner.x, y: corner.y + by }, widthOf, size));
  return [...left, ...moved, written(label, "", corner.x + NAME_CLEAR, corner.y - 6, widthOf, true)];
}

/** Name and shape one below the other, their ends in line. */
function leftOf({ name, corners }: Label, about: string, from: ScreenPlace, widthOf: Measure, size: Size): Spot {
  const width = Math.max(widthOf(name), widthOf(about));
  const { right, bottom: lowest } = around(corners);
  let x = from.x - NAME_CLEAR;
  // A plate that reaches beyond the view keeps its name in it, as long as it is seen itself.
  if (x - width < EDGE && right > EDGE) x = Math.min(EDGE + width, right);
  x = Math.min(x, size.width + width);
  const y = Math.max(from.y, Math.min(LINE, lowest));
  const bottom = about === "" ? y + 3 : y + LINE + 3;
  const box = { left: x - width, right: x, top: y - LINE + 2, bottom };
  return { name, about, x, y, isStart: false, box, isOnPlate: false };
}

function spotsAbove(label: Label, widthOf: Measure): readonly Spot[] {
  const { left, top } = around(label.corners);
  return [...new Set([label.about, ""])].map((about) => written(label, about, left, top - 5, widthOf, false));
}

/** On one line, from a place to the right. */
function written({ name }: Label, about: string, x: number, y: number, widthOf: Measure, isOnPlate: boolean): Spot {
  const width = widthOf(name) + (about === "" ? 0 : 6 + widthOf(about));
  const box = { left: x, right: x + width + 4, top: y - LINE + 2, bottom: y + 3 };
  return { name, about, x, y, isStart: true, box, isOnPlate };
}

export function isSeen(box: Box, size: Size): boolean {
  return box.right >= 0 && box.left <= size.width && box.bottom >= 0 && box.top <= size.height;
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Does a box lie on a plate? Not where a line along one of its sides has the two on either hand of it. */
function covers(box: Box, corners: readonly ScreenPlace[]): boolean {
  if (!overlap(box, around(corners))) return false;
  // The edge of a letter may touch it.
  const own = [box.left + TOUCH, box.right - TOUCH].flatMap((x) => [box.top + TOUCH, box.bottom - TOUCH].map((y) => ({ x, y })));
  return corners.every((from, at) => {
    const to = corners[(at + 1) % corners.length]!;
    const side = ({ x, y }: ScreenPlace): number => (to.x - from.x) * (y - from.y) - (to.y - from.y) * (x - from.x);
    const [mine, theirs] = [own.map(side), corners.map(side)];
    return Math.max(...mine) > Math.min(...theirs) && Math.min(...mine) < Math.max(...theirs);
  });
}
