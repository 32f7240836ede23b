/** What a frame is made of: plates from back to front, each as it is drawn, and the lines between them. */
import { LEVELS, MINUS_INFINITY, type PlateValues, PLUS_INFINITY, type UnitPlace } from "../../data/network/store";
import { heightOfLevel, highestOf, type Look, type Scaling, scalingOf, tintOfLevel } from "../../data/network/value-ranges";
import { obtain } from "../../data/collections";
import type { Rgb } from "../../ui/colour-scale";
import type { Connection } from "../../wire";
import {
  between,
  type Camera,
  eyeOf,
  lengthOf,
  minus,
  pixelsPerUnit,
  plus,
  project,
  type Size,
  times,
  type Vector,
  viewMatrix,
} from "../camera";
import type { Inks } from "./colours";
import type { DrawnPlate } from "./picking";
import { around, isSeen } from "./plate-labels";
import { cellOfUnit, cornersOf, inSpace, marginsOf, middleOf, onPlate, placesOf, type Plate } from "./plates";

/** Units as a flat picture, as bars, or as a field of bars through which each pixel looks. */
export type Form = "flat" | "bars" | "field";

export interface PaintedPlate extends DrawnPlate {
  readonly form: Form;
  /** Nothing was recorded: hatched. */
  readonly isMissing: boolean;
  readonly isWaiting: boolean;
  /** Of a colour picture: from levels to shades, a slope and a start. */
  readonly colourRange: readonly [slope: number, start: number];
  /** Lines that lie behind it and after what was painted before it. */
  readonly linesBefore: Segments;
}

/** All that a picture shows, but for where it is looked at from. */
export interface Content {
  readonly plates: readonly Plate[];
  /** How far from the middle something can be. */
  readonly reach: number;
  readonly connections: readonly Connection[];
  /** By layer; levels as many as its plate has. */
  readonly values: ReadonlyMap<string, PlateValues>;
  readonly look: Look;
  readonly hasHeight: boolean;
  readonly fading: number;
  readonly variable: string;
  /** The variable is one of weights, of the unit that is selected: most places are not connected to it. */
  readonly isOfUnit: boolean;
  readonly selected: UnitPlace | null;
  readonly rays: readonly Ray[];
  readonly hasArrows: boolean;
}

/** Where it is looked at from, and with which inks. */
interface View {
  readonly camera: Camera;
  readonly size: Size;
  readonly ratio: number;
  readonly inks: Inks;
  /** A card that cannot keep up, while things move. */
  readonly isQuick: boolean;
}

export interface Frame extends View, Pick<Content, "fading" | "isOfUnit"> {
  readonly matrix: Float32Array;
  /** From back to front. */
  readonly plates: readonly PaintedPlate[];
  /** Above the last. */
  readonly linesAfter: Segments;
}

const infinities = new WeakMap<Uint16Array, boolean>();

function hasInfinity(levels: Uint16Array): boolean {
  return obtain(infinities, levels, () => levels.includes(PLUS_INFINITY) || levels.includes(MINUS_INFINITY));
}

export function frameOf(content: Content, view: View, ramp: Uint8ClampedArray): Frame {
  const { camera, size, inks, isQuick } = view;
  const { fading, isOfUnit } = content;
  const sights = fromBack(content.plates, camera).map((plate) => ({
    ...sightOf(plate, camera, size),
    isRaised: isRaised(plate, content, camera),
  }));
  const forms = formsOf(sights, isQuick);
  const plates = sights.map((sight, at) => paintedPlate(content, sight, forms[at]!));
  const space: Between = { plates, order: new Map(plates.map(({ plate }, at) => [plate.layer.name, at])), after: new Segments() };
  for (const [at, { plate }] of plates.entries()) {
    const corners = cornersOf(plate);
    // An outline comes after its plate: with the lines before the next.
    const into = plates[at + 1]?.linesBefore ?? space.after;
    into.addPath([...corners, corners[0]], { colour: inks.outline, alpha: 1, width: 1 });
  }
  if (content.hasArrows) arrows(content, space, camera.isFlat, inks.faint);
  rays(content, space, ramp);
  const shown = plates.filter(({ linesBefore }, at) => sights[at]!.isInView || linesBefore.count > 0);
  return { ...view, fading, isOfUnit, matrix: viewMatrix(camera, size, content.reach), plates: shown, linesAfter: space.after };
}

/** Lines are drawn between plates from back to front: before each of them, and after the last. */
interface Between {
  readonly plates: readonly PaintedPlate[];
  /** By the name of its layer, which of them a plate is. */
  readonly order: ReadonlyMap<string, number>;
  readonly after: Segments;
}

function paintedPlate({ values, look, isOfUnit, variable }: Content, { plate, cellPixels }: Sight, form: Form): PaintedPlate {
  const block = values.get(plate.layer.name);
  const hasLevels = block !== undefined && block.levels.length > 0;
  const scaling = hasLevels ? scalingOf(look, block) : null;
  return {
    plate,
    levels: hasLevels ? block.levels : null,
    scaling,
    form,
    isRaised: form !== "flat",
    highest: hasLevels && scaling !== null ? highestOf(scaling, hasInfinity(block.levels)) : 0,
    inset: plate.cells.colourStride > 0 || plate.isRaster ? 0 : insetOf(cellPixels),
    // What has nothing to do with the unit whose weights are shown is not missing.
    isMissing: block !== undefined && !hasLevels && !isOfUnit,
    isWaiting: block === undefined || (!hasLevels && isOfUnit),
    colourRange: colourRangeOf(block, variable),
    linesBefore: new Segments(),
  };
}

/** What is farther from the eye first: of plates one above the other the one whose height differs more from the eye's. */
function fromBack(plates: readonly Plate[], camera: Camera): readonly Plate[] {
  if (camera.isFlat) return plates;
  const eye = eyeOf(camera);
  const far = plates.map((plate) => {
    const middle = middleOf(plate);
    return { plate, up: Math.abs(middle[1] - eye[1]), away: lengthOf(minus(middle, eye)) };
  });
  return far
    .sort((a, b) => (Math.abs(a.up - b.up) > 1e-6 ? b.up - a.up : b.away - a.away))
    .map(({ plate }) => plate);
}

function isRaised(plate: Plate, { hasHeight, values }: Content, camera: Camera): boolean {
  if (!hasHeight || camera.isFlat || plate.cells.colourStride > 0 || plate.isRaster) return false;
  return (values.get(plate.layer.name)?.levels.length ?? 0) > 0;
}

/** A colour picture of gradients or weights is no picture: grey is zero, as far to both sides. */
function colourRangeOf(block: PlateValues | undefined, variable: string): readonly [slope: number, start: number] {
  if (block === undefined || variable === "Act" || block.low >= 0) return [1 / LEVELS, 0];
  const most = Math.max(Math.abs(block.low), Math.abs(block.high));
  return [((block.high / most - block.low / most) * 0.5) / LEVELS, 0.5 + (0.5 * block.low) / most];
}

/** Each before the nearer of its plates, so that this one lies over it. */
function arrows({ plates: all, connections, reach }: Content, { plates, order }: Between, isFlat: boolean, colour: Rgb): void {
  const gaps = gapsBetween(all);
  // Several connections of the same two are one arrow.
  const pairs = new Map(connections.map(({ source, target }) => [`${source}\n${target}`, [order.get(source), order.get(target)]]));
  for (const [from, to] of pairs.values()) {
    if (from === undefined || to === undefined || from === to) continue;
    const curve = curveOf(plates[from]!.plate, plates[to]!.plate, isFlat, gaps);
    addArrow(plates[Math.max(from, to)]!.linesBefore, curve, { colour, alpha: 0.75, width: 1.2 }, reach);
  }
}

function rays({ selected, rays: all }: Content, { plates, order, after }: Between, ramp: Uint8ClampedArray): void {
  const mine = order.get(selected?.layer ?? "");
  if (selected === null || mine === undefined) return;
  const own = plates[mine]!;
  const most = Math.max(1e-300, ...all.map((ray) => Math.abs(ray.value)));
  for (const ray of all) {
    const at = order.get(ray.place.layer);
    const other = at === undefined ? undefined : plates[at];
    if (at === undefined || other?.scaling == null) continue;
    const isBelow = middleOf(other.plate)[1] < middleOf(own.plate)[1];
    const step = Math.round((tintOfLevel(other.scaling, ray.level) ?? 0) * 255) * 4;
    // Within one layer above it, else before the nearer of the two.
    const into = at === mine ? after : plates[Math.max(at, mine)]!.linesBefore;
    into.add(unitPlace(own, selected.unit, !isBelow), unitPlace(other, ray.place.unit, isBelow), {
      colour: [ramp[step]!, ramp[step + 1]!, ramp[step + 2]!],
      alpha: 0.72,
      width: 0.8 + (1.4 * Math.abs(ray.value)) / most,
    });
  }
}

/** The middle of a unit, at its top or on the floor. */
export function unitPlace(
  { plate, levels, scaling, isRaised: isUp }: Pick<PaintedPlate, "plate" | "levels" | "scaling" | "isRaised">,
  unit: number,
  isTop: boolean,
  moment?: number,
): Vector {
  const { column, row } = cellOfUnit(plate, unit, moment);
  return inSpace(plate, column + 0.5, row + 0.5, isTop && isUp ? unitHeight(levels, scaling, unit) : 0);
}

export function unitHeight(levels: Uint16Array | null, scaling: Scaling | null, unit: number): number {
  return levels === null || scaling === null ? 0 : heightOfLevel(scaling, levels[unit] ?? 0);
}

/** Up to so many bars in view each is drawn; of more, each pixel looks for its bar. */
export const MOST_BARS = 20_000;
/** Of smaller cells a relief would be noise. */
const SMALLEST_CELL = 1.4;
const GAP = { share: 0.08, from: 3.5, full: 9 };

interface Sight {
  readonly plate: Plate;
  readonly isInView: boolean;
  /** Pixels of the smaller side of a cell, where the plate is nearest. */
  readonly cellPixels: number;
}

export function sightOf(plate: Plate, camera: Camera, size: Size): Sight {
  const { columns, rows } = plate.cells;
  const eye = eyeOf(camera);
  const on = onPlate(plate, eye);
  const clamp = (at: number, most: number): number => Math.max(0, Math.min(most, at));
  const nearest = inSpace(plate, clamp(on[0], columns), clamp(on[1], rows), 0);
  const depth = camera.isFlat ? camera.distance : Math.max(1e-4, lengthOf(minus(nearest, eye)));
  const cell = Math.min(lengthOf(plate.across), lengthOf(plate.down));
  const cellPixels = (pixelsPerUnit(camera, size) * camera.distance * cell) / depth;
  return { plate, isInView: isInView(plate, camera, size), cellPixels };
}

function isInView(plate: Plate, camera: Camera, size: Size): boolean {
  const seen = placesOf(plate).map((corner) => project(camera, size, corner));
  // Partly behind the eye: it may still go through the view.
  return !seen.every((place) => place !== null) || isSeen(around(seen), size);
}

/** Between bars there is a little room, where cells are large enough to see it. */
function insetOf(cellPixels: number): number {
  return GAP.share * Math.max(0, Math.min(1, (cellPixels - GAP.from) / (GAP.full - GAP.from)));
}

/** `isRaised`: could its units rise? Quick: a card that cannot keep up while things move. */
export function formsOf(sights: readonly (Sight & { readonly isRaised: boolean })[], isQuick: boolean): readonly Form[] {
  const forms: Form[] = sights.map(() => "flat");
  if (isQuick) return forms;
  const raised = [...sights.entries()].filter(
    ([, sight]) => sight.isRaised && sight.isInView && sight.cellPixels >= SMALLEST_CELL,
  );
  const sizeOf = ({ plate }: Sight): number => plate.cells.columns * plate.cells.rows;
  raised.sort(([, a], [, b]) => sizeOf(a) - sizeOf(b));
  let total = 0;
  for (const [at, sight] of raised) {
    total += sizeOf(sight);
    forms[at] = total <= MOST_BARS ? "bars" : "field";
  }
  return forms;
}

// --- Which way things go: curves from plate to plate, and rays from the selected unit to those it has
//   weights with.

const PIECES = 14;
const HEAD = { least: 0.03, most: 0.12, breadth: 0.85 };
/** How far into a gap between columns arrows go up and down, and how round their corners are. */
const LANE = 0.14;
const ROUND = 0.3;
const LEAST_GAP = 0.2;

interface Gap {
  readonly from: number;
  readonly to: number;
}

/** The middle of one edge of a plate, its margin too. */
function edgeOf(plate: Plate, side: "left" | "right" | "back" | "front"): Vector {
  const { columns, rows } = plate.cells;
  const [byColumns, byRows] = marginsOf(plate);
  const places = {
    left: [-byColumns, rows / 2],
    right: [columns + byColumns, rows / 2],
    back: [columns / 2, -byRows],
    front: [columns / 2, rows + byRows],
  } as const;
  const [x, y] = places[side];
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
  // At the same height: straight across.
  if (Math.abs(left[1] - right[1]) <= 0.01) {
    return left[0] > edgeOf(source, "left")[0] ? [right, left] : [edgeOf(source, "left"), edgeOf(target, "right")];
  }
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
  return obtain(known, plates, () => {
    const spans = plates.map((plate) => ({ from: edgeOf(plate, "left")[0], to: edgeOf(plate, "right")[0] }));
    const gaps: Gap[] = [];
    let reached = Infinity;
    for (const { from, to } of spans.sort((a, b) => a.from - b.from)) {
      if (from > reached + LEAST_GAP) gaps.push({ from: reached, to: from });
      reached = reached === Infinity ? to : Math.max(reached, to);
    }
    return gaps;
  });
}

function bezier(a: Vector, b: Vector, c: Vector, d: Vector): readonly Vector[] {
  return Array.from({ length: PIECES + 1 }, (_, piece) => {
    const share = piece / PIECES;
    const [ab, bc, cd] = [between(a, b, share), between(b, c, share), between(c, d, share)];
    return between(between(ab, bc, share), between(bc, cd, share), share);
  });
}

/** A curve with a head at its end. `reach`: of the whole picture, which decides on the size of the head. */
function addArrow(segments: Segments, places: readonly Vector[], stroke: Stroke, reach: number): void {
  const end = places.at(-1)!;
  const way = minus(end, places.at(-2)!);
  const length = lengthOf(way);
  if (length === 0) return;
  const wanted = Math.max(HEAD.least, Math.min(HEAD.most, 0.024 * reach));
  const pathLength = places.reduce((sum, place, at) => sum + lengthOf(minus(place, places[Math.max(0, at - 1)]!)), 0);
  const head = Math.min(wanted, pathLength / 2);
  const neck = plus(end, times(way, -head / length));
  const shaft = places.filter((place) => lengthOf(minus(place, end)) > head);
  segments.addPath([...shaft, neck], stroke);
  segments.add(neck, end, { ...stroke, width: 0, breadth: head * HEAD.breadth, endBreadth: 0 });
}

// --- The strongest weights of the selected unit, as rays.

interface Ray {
  readonly place: UnitPlace;
  readonly level: number;
  readonly value: number;
}

const MOST_RAYS = 200;

/** Of all layers together, the farthest from zero, the weakest first. What is no number has no strength. */
export function strongest(
  values: ReadonlyMap<string, PlateValues>,
  isShown: (layer: string) => boolean,
  most = MOST_RAYS,
): readonly Ray[] {
  const kept: Ray[] = [];
  let least = 0;
  for (const [layer, block] of values) {
    if (!isShown(layer)) continue;
    const factor = (block.high - block.low) / LEVELS;
    for (let unit = 0; unit < block.levels.length; unit++) {
      const level = block.levels[unit]!;
      if (level > LEVELS) continue;
      const value = block.low + level * factor;
      if (Math.abs(value) <= least) continue;
      kept.push({ place: { layer, unit }, level, value });
      // Not for each of them: half of what is kept is let go at a time.
      if (kept.length >= 2 * most) least = thin(kept, most);
    }
  }
  thin(kept, most);
  return kept.reverse();
}

/** Keep the strongest, strongest first; what is no stronger than the answer need not come. */
function thin(kept: Ray[], most: number): number {
  kept.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  kept.length = Math.min(kept.length, most);
  return kept.length < most ? 0 : Math.abs(kept.at(-1)!.value);
}

/** Of one line: two places, a colour and how much it covers, four widths. */
export const SEGMENT_FLOATS = 14;

interface Stroke {
  readonly colour: Rgb;
  readonly alpha: number;
  /** In pixels, at the start and at the end. */
  readonly width: number;
  readonly endWidth?: number;
  /** The same as lengths in space, added to those in pixels. */
  readonly breadth?: number;
  readonly endBreadth?: number;
}

/** Straight lines, packed as the graphics card takes them. */
export class Segments {
  readonly numbers: number[] = [];

  get count(): number {
    return this.numbers.length / SEGMENT_FLOATS;
  }

  add(from: Vector, to: Vector, { colour, alpha, width, endWidth = width, breadth = 0, endBreadth = breadth }: Stroke): void {
    // One by one: many times a frame, lists in between would cost more than all else.
    this.numbers.push(from[0], from[1], from[2], to[0], to[1], to[2]);
    this.numbers.push(colour[0] / 255, colour[1] / 255, colour[2] / 255, alpha, width, endWidth, breadth, endBreadth);
  }

  addPath(places: readonly Vector[], stroke: Stroke): void {
    for (let at = 1; at < places.length; at++) this.add(places[at - 1]!, places[at]!, stroke);
  }
}
