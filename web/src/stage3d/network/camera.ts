/** From space to pixels: in perspective around a target, or straight from the front where the view is flat. */
import type { Drawing } from "./drawing";

export interface Camera {
  readonly isFlat: boolean;
  /** Around the upright axis and above the horizon, in radians. */
  readonly yaw: number;
  readonly pitch: number;
  /** Of the eye from the target; in a flat view how much is seen. */
  readonly distance: number;
  readonly target: Vector;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A line of sight. */
export interface Ray {
  readonly origin: Vector;
  readonly direction: Vector;
}

export interface ScreenPlace {
  readonly x: number;
  readonly y: number;
}

/** Edges of the view that stay free when all is fitted into it, in pixels. */
export interface Margins {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Half of what is seen from top to bottom, as a tangent. */
const TANGENT = 0.22;
/** From below there is nothing to see: plates are looked at from above. */
const PITCHES = { least: 0.02, most: Math.PI / 2 - 0.005 };
const DISTANCES = { least: 0.004, most: 4000 };
const START = { yaw: 0.32, pitch: 0.54 };
/** Of what is wider than high: from further to the front, or its sides would be of different sizes. */
const WIDE_YAW = 0.14;
const TURN = 0.008;

export function startCamera(isFlat: boolean, isWide = false): Camera {
  return { isFlat, ...START, yaw: isWide ? WIDE_YAW : START.yaw, distance: 10, target: [0, 0, 0] };
}

/** Right, up and back, as seen by the camera. */
export function basisOf({ isFlat, yaw, pitch }: Camera): readonly [Vector, Vector, Vector] {
  if (isFlat) {
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

export function eyeOf(camera: Camera): Vector {
  return plus(camera.target, times(basisOf(camera)[2], camera.distance));
}

/** Pixels for one unit of length at the target. */
export function pixelsPerUnit(camera: Camera, { height }: Size): number {
  return Math.max(1, height) / 2 / (TANGENT * camera.distance);
}

/** Column by column, as WebGL wants it. `reach`: how far from the target something can be. */
export function viewMatrix(camera: Camera, size: Size, reach: number): Float32Array {
  const [right, up, back] = basisOf(camera);
  const aspect = Math.max(1, size.width) / Math.max(1, size.height);
  const row = (axis: Vector, factor: number): number[] => [
    ...times(axis, factor),
    -dot(axis, camera.target) * factor,
  ];
  const focal = camera.isFlat ? 1 / (TANGENT * camera.distance) : 1 / TANGENT;
  const [x, y] = [row(right, focal / aspect), row(up, focal)];
  const away = row(back, -1); // how far beyond the target
  let [z, w] = [away.map((part) => part / (2 * reach)), [0, 0, 0, 1]];
  if (!camera.isFlat) {
    away[3]! += camera.distance;
    const [near, far] = depths(camera, reach);
    const slope = (far + near) / (far - near);
    z = away.map((part) => part * slope);
    z[3]! -= (2 * far * near) / (far - near);
    w = away;
  }
  const matrix = new Float32Array(16);
  for (const [line, parts] of [x, y, z, w].entries()) {
    for (let column = 0; column < 4; column++) matrix[column * 4 + line] = parts[column]!;
  }
  return matrix;
}

/** The nearest and the farthest that is drawn: near enough for one unit that fills the view. */
function depths(camera: Camera, reach: number): readonly [near: number, far: number] {
  const far = camera.distance + lengthOf(camera.target) + 2 * reach;
  return [Math.max(camera.distance * 0.02, far * 1e-5), far];
}

/** A place on screen; null behind the eye. */
export function project(camera: Camera, size: Size, place: Vector): ScreenPlace | null {
  const [right, up, back] = basisOf(camera);
  const from = minus(place, camera.target);
  const depth = camera.isFlat ? camera.distance : camera.distance - dot(from, back);
  if (depth <= camera.distance * 1e-3) return null;
  const scale = Math.max(1, size.height) / 2 / (TANGENT * depth);
  return { x: size.width / 2 + dot(from, right) * scale, y: size.height / 2 - dot(from, up) * scale };
}

/** The line of sight through a pixel. Its direction ends in the plane of the target. */
export function rayThrough(camera: Camera, size: Size, x: number, y: number): Ray {
  const [right, up, back] = basisOf(camera);
  const unit = 1 / pixelsPerUnit(camera, size);
  const beside = plus(times(right, (x - size.width / 2) * unit), times(up, (size.height / 2 - y) * unit));
  const origin = plus(camera.target, times(back, camera.distance));
  const forward = times(back, -camera.distance);
  if (camera.isFlat) return { origin: plus(origin, beside), direction: forward };
  return { origin, direction: plus(forward, beside) };
}

export function turned(camera: Camera, byX: number, byY: number): Camera {
  if (camera.isFlat) return camera;
  return { ...camera, yaw: camera.yaw - byX * TURN, pitch: clampPitch(camera.pitch + byY * TURN) };
}

export function clampPitch(pitch: number): number {
  return Math.min(PITCHES.most, Math.max(PITCHES.least, pitch));
}

export function clampDistance(distance: number): number {
  return Math.min(DISTANCES.most, Math.max(DISTANCES.least, distance));
}

/** Moved so that what is seen, at the depth of the target, goes with the pointer. */
export function panned(camera: Camera, byX: number, byY: number, size: Size): Camera {
  const [right, up] = basisOf(camera);
  const unit = 1 / pixelsPerUnit(camera, size);
  return { ...camera, target: plus(camera.target, plus(times(right, -byX * unit), times(up, byY * unit))) };
}

/** Nearer to a place, or away from it: it stays where it is on screen. */
export function zoomedTo(camera: Camera, factor: number, place: Vector): Camera {
  const distance = clampDistance(camera.distance / factor);
  const share = distance / camera.distance;
  return { ...camera, distance, target: plus(place, times(minus(camera.target, place), share)) };
}

/** From the same side, with all places in view. */
export function fitted(camera: Camera, places: readonly Vector[], size: Size, margins: Margins): Camera {
  if (places.length === 0) return camera;
  const [right, up, back] = basisOf(camera);
  const half = Math.max(1, size.height) / 2;
  // How far to each side of the middle something may be seen, as tangents.
  const tangents = [
    (size.width / 2 - margins.left) / half,
    (size.width / 2 - margins.right) / half,
    (half - margins.bottom) / half,
    (half - margins.top) / half,
  ].map((share) => Math.max(0.1, share) * TANGENT);
  const seen = places.map((place): Vector => [dot(place, right), dot(place, up), dot(place, back)]);
  const across = frame(seen, 0, tangents[0]!, tangents[1]!, camera.isFlat);
  const upright = frame(seen, 1, tangents[2]!, tangents[3]!, camera.isFlat);
  const depths = seen.map((place) => place[2]);
  const middle = (Math.min(...depths) + Math.max(...depths)) / 2;
  const eye = Math.max(across.depth, upright.depth) + (camera.isFlat ? middle : 0);
  const distance = clampDistance(eye - middle);
  const held = camera.isFlat ? distance : eye;
  const target = [
    times(right, across.place(held)),
    times(up, upright.place(held)),
    times(back, middle),
  ].reduce<Vector>(plus, [0, 0, 0]);
  return { ...camera, distance, target };
}

interface Framing {
  /** Where along the line of sight the eye has to be at least. */
  readonly depth: number;
  /** Where it then is, along this axis. */
  readonly place: (depth: number) => number;
}

/**
 * Of an eye at `e`, which sees what is within `low` and `high` times the way to it: each place asks for
 * `e + high * depth` to be no less than one number, and `e - low * depth` no more than another.
 */
function frame(seen: readonly Vector[], axis: 0 | 1, low: number, high: number, isFlat: boolean): Framing {
  const depthOf = (place: Vector): number => (isFlat ? 0 : place[2]);
  const most = Math.max(...seen.map((place) => place[axis] + high * depthOf(place)));
  const least = Math.min(...seen.map((place) => place[axis] - low * depthOf(place)));
  return {
    depth: (most - least) / (low + high),
    place: (depth) => (most - high * depth + least + low * depth) / 2,
  };
}

/** On the way from one camera to another. */
export function onTheWay(from: Camera, to: Camera, share: number): Camera {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  return {
    isFlat: to.isFlat,
    yaw: mix(from.yaw, to.yaw),
    pitch: mix(from.pitch, to.pitch),
    distance: Math.exp(mix(Math.log(from.distance), Math.log(to.distance))),
    target: [0, 1, 2].map((at) => mix(from.target[at]!, to.target[at]!)) as unknown as Vector,
  };
}

// --- Places and directions in space: right, up, to the front.

export type Vector = readonly [x: number, y: number, z: number];

export function plus(a: Vector, b: Vector): Vector {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

export function minus(a: Vector, b: Vector): Vector {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

export function times(a: Vector, factor: number): Vector {
  return [a[0] * factor, a[1] * factor, a[2] * factor];
}

export function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function lengthOf(a: Vector): number {
  return Math.hypot(...a);
}

/** On the way from one to the other. */
export function between(a: Vector, b: Vector, share: number): Vector {
  return plus(a, times(minus(b, a), share));
}

// --- Move the camera to a place that was asked for: in 280 ms, or at once for those who want less motion.

const DURATION_MS = 280;

export class Gliding {
  readonly #drawing: () => Drawing | null;
  #frame = 0;

  constructor(drawing: () => Drawing | null) {
    this.#drawing = drawing;
  }

  /** A hand on the camera ends it. */
  stop(): void {
    cancelAnimationFrame(this.#frame);
  }

  to(next: Camera, onThere: () => void = () => undefined): void {
    this.stop();
    const drawing = this.#drawing();
    if (drawing === null) return;
    const from = drawing.camera;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches || from.isFlat !== next.isFlat;
    const start = performance.now();
    const step = (now: number): void => {
      const share = isStill ? 1 : Math.min(1, Math.max(0, now - start) / DURATION_MS);
      drawing.look(share === 1 ? next : onTheWay(from, next, eased(share)));
      if (share < 1) this.#frame = requestAnimationFrame(step);
      else onThere();
    };
    step(start);
  }
}

function eased(share: number): number {
  return 1 - (1 - share) ** 3;
}
