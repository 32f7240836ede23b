/** From where points are looked at, where each of them is then on screen, and which of their labels have room there. */
import { type Camera, type Lens, type Size, within } from "../camera";

/** Points lie within one of the origin, but for a few that are this far; the one fills this much of the view. */
export const REACH = 50;
const FILL = 0.86;
const HALF_ANGLE = 0.36;
/** Nearer to the eye nothing is seen. */
const NEAR = 1e-3;
const ZOOMS = { least: 0.1, most: 400 };
const STEEPEST = Math.PI / 2 - 0.01;

/** In perspective a ball around the origin is seen from further away than a disk. */
const AWAY = { flat: 1 / (FILL * Math.tan(HALF_ANGLE)), deep: 1 / (FILL * Math.sin(HALF_ANGLE)) };

function lensFor(away: number): Lens {
  return {
    tangent: Math.tan(HALF_ANGLE),
    isOfLesserSide: true,
    pitches: { least: -STEEPEST, most: STEEPEST },
    distances: { least: away / ZOOMS.most, most: away / ZOOMS.least },
  };
}

const LENSES = { flat: lensFor(AWAY.flat), deep: lensFor(AWAY.deep) };

export function startCamera(isFlat: boolean): Camera {
  const kind = isFlat ? "flat" : "deep";
  return { lens: LENSES[kind], isFlat, yaw: 0.6, pitch: 0.35, distance: AWAY[kind], target: [0, 0, 0] };
}

/** 1 shows everything. */
export function zoomOf({ isFlat, distance }: Camera): number {
  return (isFlat ? AWAY.flat : AWAY.deep) / distance;
}

/** A camera as the address says it: angles in three dimensions, zoom and target; empty as it starts. */
export function writeCamera(camera: Camera): string {
  const text = numbersOf(camera).map(short).join(",");
  return text === numbersOf(startCamera(camera.isFlat)).map(short).join(",") ? "" : text;
}

/** As it starts, for a text that is none of a camera of so many dimensions. */
export function readCamera(text: string, isFlat: boolean): Camera {
  const start = startCamera(isFlat);
  const numbers = text.split(",").map((part) => (part === "" ? NaN : Number(part)));
  if (numbers.length !== numbersOf(start).length || !numbers.every(Number.isFinite)) return start;
  const [zoom = 1, x = 0, y = 0, z = 0, yaw = start.yaw, pitch = start.pitch] = numbers;
  return {
    ...start,
    yaw,
    pitch: within(pitch, start.lens.pitches),
    distance: within(start.distance / Math.max(0, zoom), start.lens.distances),
    target: [x, y, z],
  };
}

function numbersOf(camera: Camera): number[] {
  const { isFlat, yaw, pitch, target } = camera;
  return isFlat ? [zoomOf(camera), target[0], target[1]] : [zoomOf(camera), ...target, yaw, pitch];
}

/** A link needs no more digits than can be seen. */
function short(value: number): string {
  return String(Number(value.toFixed(4)));
}

/** Where points are on screen: x, y in pixels and how far away, three numbers each. Behind the eye: NaN. */
export function projectAll(
  places: Float32Array,
  matrix: Float32Array,
  { width, height }: Size,
  out: Float32Array,
): void {
  const m = matrix;
  for (let at = 0; at < places.length; at += 3) {
    const [x, y, z] = [places[at]!, places[at + 1]!, places[at + 2]!];
    const w = m[3]! * x + m[7]! * y + m[11]! * z + m[15]!;
    if (!(w > NEAR)) {
      out[at] = NaN;
      out[at + 1] = NaN;
      out[at + 2] = NaN;
      continue;
    }
    out[at] = ((m[0]! * x + m[4]! * y + m[8]! * z + m[12]!) / w + 1) * 0.5 * width;
    out[at + 1] = (1 - (m[1]! * x + m[5]! * y + m[9]! * z + m[13]!) / w) * 0.5 * height;
    out[at + 2] = (m[2]! * x + m[6]! * y + m[10]! * z + m[14]!) / w;
  }
}

// --- Which labels have room on screen, so that none covers another.

export interface Label {
  readonly text: string;
  /** Where it belongs. */
  readonly x: number;
  readonly y: number;
  readonly weight: "plain" | "strong" | "middle";
}

export interface PlacedLabel extends Label {
  /** The left end of its base line. */
  readonly left: number;
  readonly base: number;
}

const HEIGHT = 14;
const GAP = 7;
const LONGEST = 28;

/** The first come first; a strong label stands even where there is no room. */
export function placeLabels(
  labels: readonly Label[],
  widthOf: (text: string) => number,
  size: { readonly width: number; readonly height: number },
): PlacedLabel[] {
  const taken: [number, number, number, number][] = [];
  const placed: PlacedLabel[] = [];
  for (const label of labels) {
    const text = shortened(label.text);
    if (text === "") continue;
    const width = widthOf(text);
    const isMiddle = label.weight === "middle";
    const right = label.x + GAP;
    const left = isMiddle ? label.x - width / 2 : right + width > size.width ? label.x - GAP - width : right;
    const base = label.y + 4;
    const box: [number, number, number, number] = [left - 2, base - HEIGHT + 3, left + width + 2, base + 3];
    const isOutside = box[2] < 0 || box[0] > size.width || box[3] < 0 || box[1] > size.height;
    if (isOutside || (label.weight !== "strong" && taken.some((other) => overlaps(other, box)))) continue;
    taken.push(box);
    placed.push({ ...label, text, left, base });
  }
  return placed;
}

function overlaps(a: readonly number[], b: readonly number[]): boolean {
  return a[0]! < b[2]! && b[0]! < a[2]! && a[1]! < b[3]! && b[1]! < a[3]!;
}

/** One line; what would steer the text (line ends, marks of direction) is left out. */
export function shortened(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  const letters = Array.from(line);
  return letters.length <= LONGEST ? line : `${letters.slice(0, LONGEST - 1).join("")}…`;
}
