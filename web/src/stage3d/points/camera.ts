/** From places to pixels: flat from above in two dimensions, around a target and in perspective in three. */

export interface Camera {
  readonly dims: 2 | 3;
  /** Around the upright axis and above the horizon, in radians. */
  readonly yaw: number;
  readonly pitch: number;
  /** 1 shows everything. */
  readonly zoom: number;
  readonly target: readonly [x: number, y: number, z: number];
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Points lie within one of the origin; this much of the view they fill. */
const FILL = 0.86;
const HALF_ANGLE = 0.36;
const NEAR = 0.01;
const FAR = 100;
const ZOOMS = { least: 0.1, most: 400 };
const STEEPEST = Math.PI / 2 - 0.01;

export function startCamera(dims: 2 | 3): Camera {
  return { dims, yaw: 0.6, pitch: 0.35, zoom: 1, target: [0, 0, 0] };
}

/** A camera as the address says it: angles in three dimensions, zoom and target; empty as it starts. */
export function writeCamera(camera: Camera): string {
  const text = numbersOf(camera).map(short).join(",");
  return text === numbersOf(startCamera(camera.dims)).map(short).join(",") ? "" : text;
}

/** As it starts, for a text that is none of a camera of so many dimensions. */
export function readCamera(text: string, dims: 2 | 3): Camera {
  const start = startCamera(dims);
  const numbers = text.split(",").map((part) => (part === "" ? NaN : Number(part)));
  if (numbers.length !== numbersOf(start).length || !numbers.every(Number.isFinite)) return start;
  const [zoom = 1, x = 0, y = 0, z = 0, yaw = start.yaw, pitch = start.pitch] = numbers;
  return {
    dims,
    yaw,
    pitch: Math.max(-STEEPEST, Math.min(STEEPEST, pitch)),
    zoom: Math.max(ZOOMS.least, Math.min(ZOOMS.most, zoom)),
    target: [x, y, z],
  };
}

function numbersOf({ dims, yaw, pitch, zoom, target }: Camera): number[] {
  return dims === 2 ? [zoom, target[0], target[1]] : [zoom, ...target, yaw, pitch];
}

/** A link needs no more digits than can be seen. */
function short(value: number): string {
  return String(Number(value.toFixed(4)));
}

/** How far the eye is from the target, in three dimensions. */
export function distanceOf(camera: Camera): number {
  return 1 / (FILL * Math.sin(HALF_ANGLE) * camera.zoom);
}

/** Pixels for one unit at the target. */
export function pixelsPerUnit(camera: Camera, { width, height }: Size): number {
  const half = Math.max(1, Math.min(width, height)) / 2;
  if (camera.dims === 2) return half * FILL * camera.zoom;
  return half / (Math.tan(HALF_ANGLE) * distanceOf(camera));
}

/** Right, up and back, as seen by the camera. */
function basisOf({ dims, yaw, pitch }: Camera): [number[], number[], number[]] {
  if (dims === 2) {
    return [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
  }
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  return [
    [cy, 0, -sy],
    [-sy * sp, cp, -cy * sp],
    [sy * cp, sp, cy * cp],
  ];
}

/** Column by column, as WebGL wants it. */
export function viewMatrix(camera: Camera, size: Size): Float32Array {
  const [right, up, back] = basisOf(camera);
  const scale = pixelsPerUnit(camera, size);
  const [sx, sy] = [(2 * scale) / Math.max(1, size.width), (2 * scale) / Math.max(1, size.height)];
  const along = (axis: readonly number[]): number =>
    -axis.reduce((sum, part, at) => sum + part * camera.target[at]!, 0);
  const row = (axis: readonly number[], factor: number): number[] => [
    ...axis.map((part) => part * factor),
    along(axis) * factor,
  ];
  const [x, y] = [row(right, sx), row(up, sy)];
  // Flat: depth does not matter. In perspective w is the way from the eye, and x and y are as wide as at the target.
  let [z, w] = [row(back, -0.01), [0, 0, 0, 1]];
  if (camera.dims === 3) {
    const distance = distanceOf(camera);
    const away = row(back, -1);
    away[3]! += distance;
    const slope = (FAR + NEAR) / (FAR - NEAR);
    z = away.map((part) => part * slope);
    z[3]! -= (2 * FAR * NEAR) / (FAR - NEAR);
    w = away;
    for (const axis of [x, y]) for (let at = 0; at < 4; at++) axis[at]! *= distance;
  }
  const matrix = new Float32Array(16);
  for (const [line, parts] of [x, y, z, w].entries()) {
    for (let column = 0; column < 4; column++) matrix[column * 4 + line] = parts[column]!;
  }
  return matrix;
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

export function turned(camera: Camera, byX: number, byY: number): Camera {
  const pitch = Math.max(-STEEPEST, Math.min(STEEPEST, camera.pitch + byY * 0.008));
  return { ...camera, yaw: camera.yaw - byX * 0.008, pitch };
}

/** Moved so that what is seen goes with the pointer. */
export function panned(camera: Camera, byX: number, byY: number, size: Size): Camera {
  const [right, up] = basisOf(camera);
  const unit = 1 / pixelsPerUnit(camera, size);
  const target = camera.target.map((part, at) => part - (byX * right[at]! - byY * up[at]!) * unit);
  return { ...camera, target: [target[0]!, target[1]!, target[2]!] };
}

/** Zoomed so that what is under a place of the screen stays there. */
export function zoomed(camera: Camera, factor: number, x: number, y: number, size: Size): Camera {
  const zoom = Math.max(ZOOMS.least, Math.min(ZOOMS.most, camera.zoom * factor));
  const [fromX, fromY] = [x - size.width / 2, y - size.height / 2];
  const change = zoom / camera.zoom;
  const next = { ...camera, zoom };
  return panned(next, -fromX * (change - 1), -fromY * (change - 1), size);
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
