/** What a frame is made of: plates from back to front, each as it is drawn, and the lines between them. */
import type { Rgb } from "../tensor/colour";
import type { Connection } from "../wire";
import { addArrow, curveOf, gapsBetween, shownConnections } from "./arrows";
import { eyeOf, type Camera, type Size } from "./camera";
import type { Inks } from "./colours";
import { formsOf, insetOf, sightOf } from "./forms";
import type { PaintedPlate } from "./painter";
import { cellOfUnit, cornersOf, inSpace, middleOf, type Plate } from "./plates";
import type { Ray } from "./rays";
import { hasInfinity, heightOfLevel, highestOf, scalingOf, tintOfLevel, type Scaling } from "./scaling";
import { Segments } from "./segments";
import { LEVELS, type Look, type PlateValues, type UnitPlace } from "./store";
import { lengthOf, minus, type Vector } from "./vectors";

/** All that a picture shows, but for where it is looked at from. */
export interface Content {
  readonly plates: readonly Plate[];
  /** How far from the middle something can be. */
  readonly reach: number;
  readonly connections: readonly Connection[];
  /** By layer; levels as many as its plate has. */
  readonly values: ReadonlyMap<string, PlateValues>;
  readonly look: Look;
  readonly variable: string;
  /** The variable is one of weights, of the unit that is selected. */
  readonly isOfUnit: boolean;
  readonly selected: UnitPlace | null;
  readonly rays: readonly Ray[];
  readonly hasArrows: boolean;
}

export interface Picture {
  readonly plates: readonly PaintedPlate[];
  readonly linesAfter: Segments;
}

const infinities = new WeakMap<Uint16Array, boolean>();

function knownInfinity(levels: Uint16Array): boolean {
  let known = infinities.get(levels);
  if (known === undefined) infinities.set(levels, (known = hasInfinity(levels)));
  return known;
}

export function pictureOf(
  content: Content,
  camera: Camera,
  size: Size,
  inks: Inks,
  ramp: Uint8ClampedArray,
  isQuick: boolean,
): Picture {
  const plates = fromBack(content.plates, camera);
  const sights = plates.map((plate) => ({
    ...sightOf(plate, camera, size),
    isRaised: isRaised(plate, content, camera),
  }));
  const forms = formsOf(sights, isQuick);
  const painted = plates.map((plate, at): Omit<PaintedPlate, "linesBefore"> => {
    const block = content.values.get(plate.layer.name);
    const hasLevels = block !== undefined && block.levels.length > 0;
    const scaling = hasLevels ? scalingOf(content.look, block) : null;
    const form = forms[at]!;
    return {
      plate,
      key: plate.layer.name,
      levels: hasLevels ? block.levels : null,
      scaling,
      form,
      isRaised: form !== "flat",
      highest: hasLevels && scaling !== null ? highestOf(scaling, knownInfinity(block.levels)) : 0,
      inset: plate.cells.colourStride > 0 || plate.isRaster ? 0 : insetOf(sights[at]!.cellPixels),
      // What has nothing to do with the unit whose weights are shown is not missing.
      isMissing: block !== undefined && !hasLevels && !content.isOfUnit,
      isWaiting: block === undefined || (!hasLevels && content.isOfUnit),
      colourRange: colourRangeOf(block, content.variable),
    };
  });
  const lines = painted.map(() => new Segments());
  const last = new Segments();
  const order = new Map(plates.map((plate, at) => [plate.layer.name, at]));
  // An outline comes after its plate: with the lines before the next.
  for (const [at, plate] of plates.entries()) outline(lines[at + 1] ?? last, plate, inks.outline);
  if (content.hasArrows) arrows(content, plates, order, lines, camera.isFlat, inks.faint);
  rays(content, painted, order, lines, last, ramp);
  const shown = painted.map((one, at) => ({ ...one, linesBefore: lines[at]! }));
  return { plates: shown.filter((_, at) => sights[at]!.isInView || lines[at]!.count > 0), linesAfter: last };
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

function isRaised(plate: Plate, { look, values }: Content, camera: Camera): boolean {
  if (!look.hasHeight || camera.isFlat || plate.cells.colourStride > 0 || plate.isRaster) return false;
  return (values.get(plate.layer.name)?.levels.length ?? 0) > 0;
}

/** A colour picture of gradients or weights is no picture: grey is zero, as far to both sides. */
function colourRangeOf(block: PlateValues | undefined, variable: string): readonly [slope: number, start: number] {
  if (block === undefined || variable === "Act" || block.low >= 0) return [1 / LEVELS, 0];
  const most = Math.max(Math.abs(block.low), Math.abs(block.high));
  return [((block.high / most - block.low / most) * 0.5) / LEVELS, 0.5 + (0.5 * block.low) / most];
}

function outline(segments: Segments, plate: Plate, colour: Rgb): void {
  const corners = cornersOf(plate);
  segments.addPath([...corners, corners[0]], { colour, alpha: 1, width: 1 });
}

/** Each before the nearer of its plates, so that this one lies over it. */
function arrows(
  content: Content,
  plates: readonly Plate[],
  order: ReadonlyMap<string, number>,
  lines: readonly Segments[],
  isFlat: boolean,
  colour: Rgb,
): void {
  const byName = new Map(plates.map((plate) => [plate.layer.name, plate]));
  const gaps = gapsBetween(content.plates);
  for (const [source, target] of shownConnections(content.connections, byName)) {
    const at = Math.max(order.get(source.layer.name) ?? 0, order.get(target.layer.name) ?? 0);
    addArrow(lines[at]!, curveOf(source, target, isFlat, gaps), colour, 0.75, content.reach);
  }
}

function rays(
  content: Content,
  painted: readonly Omit<PaintedPlate, "linesBefore">[],
  order: ReadonlyMap<string, number>,
  lines: readonly Segments[],
  last: Segments,
  ramp: Uint8ClampedArray,
): void {
  const { selected } = content;
  const mine = order.get(selected?.layer ?? "");
  if (selected === null || mine === undefined) return;
  const own = painted[mine]!;
  const most = Math.max(1e-300, ...content.rays.map((ray) => Math.abs(ray.value)));
  for (const ray of content.rays) {
    const at = order.get(ray.place.layer);
    const other = at === undefined ? undefined : painted[at];
    if (at === undefined || other?.scaling == null) continue;
    const isBelow = middleOf(other.plate)[1] < middleOf(own.plate)[1];
    const step = Math.round((tintOfLevel(other.scaling, ray.level) ?? 0) * 255) * 4;
    // Within one layer above it, else before the nearer of the two.
    const into = at === mine ? last : lines[Math.max(at, mine)]!;
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
